// SPDX-License-Identifier: Apache-2.0
/* The first step of every process that drops privilege. */
#pragma once

/**
 * capabilities_bound_none() - empty the bounding set: no exec gives a capability afterwards
 * Return: 0; -EPERM without CAP_SETPCAP: the set is unchanged
 */
int capabilities_bound_none(void);
