// SPDX-License-Identifier: Apache-2.0
/*
 * Prints the places of probes: reads lines "name head", with the first bytes of a function in hexadecimal, and writes
 * lines "name bytes-to-the-probe kind", with kind plain, jump or stepped.
 */
#include <elf.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "probes/place.h"

int main(void)
{
	static const char *const kinds[CALL_HEAD_COUNT] = { "plain", "jump", "stepped" };
	char name[128], text[128];

	while (scanf("%127s %127s", name, text) == 2) {
		uint8_t head[64];
		size_t n = 0;
		struct place place;

		for (unsigned int byte; n < sizeof(head) && sscanf(text + 2 * n, "%2x", &byte) == 1; n++)
			head[n] = (uint8_t)byte;
		place = place_find(EM_X86_64, head, n);
		printf("%s %u %s\n", name, place.delta, kinds[place.head]);
	}
	return 0;
}
