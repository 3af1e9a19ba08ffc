// SPDX-License-Identifier: Apache-2.0
/*
 * What may be asked of a demo; base/demos.def names them.
 */
#pragma once

/* How much faster than life it plays: more is over before a screen was drawn, less is no fun. */
#define DEMO_SPEED_MIN 0.1
#define DEMO_SPEED_MAX 1000.0
