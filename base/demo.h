// SPDX-License-Identifier: Apache-2.0
/* Limits of a demo; base/demos.def names the demos. */
#pragma once

/* Speed factors: a faster demo is over before a screen was drawn, a slower one is tedious. */
#define DEMO_SPEED_MIN 0.1
#define DEMO_SPEED_MAX 1000.0
