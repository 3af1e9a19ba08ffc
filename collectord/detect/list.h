// SPDX-License-Identifier: Apache-2.0
/*
 * The names of all detectors: the only registration. Order carries no meaning.
 *
 * DETECTOR(name): detector_NAME in detect/NAME.c, with its page docs/detectors/NAME.md and its test.
 */
