// SPDX-License-Identifier: Apache-2.0
#include "events/source.h"

#include "events/event.h"

uint16_t source_measured(const struct source *source)
{
	uint16_t measured = 0;

	for (int i = 0; i < BLAME_COUNT; i++)
		if (source->ops->measures(source, (enum blame_class)i))
			measured |= MEASURED(i);
	return measured;
}
