// SPDX-License-Identifier: Apache-2.0
/*
 * What every process of ours that gives up privilege does first.
 */
#pragma once

/**
 * capabilities_bound_none() - empty the bounding set: no exec gives a capability from now on
 * Return: 0; -EPERM without CAP_SETPCAP: then the set is what it was
 */
int capabilities_bound_none(void);
