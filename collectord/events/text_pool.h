// SPDX-License-Identifier: Apache-2.0
/*
 * Texts of the frames of stacks, each kept once: thousands of stacks have the same few functions, files and modules.
 * For the loop alone.
 */
#pragma once

/**
 * text_pool_take() - the kept copy of a text, with a reference
 * Return: NULL without memory
 */
const char *text_pool_take(const char *text);
/** text_pool_ref() - another reference to a text of the pool. Return: the text */
const char *text_pool_ref(const char *text);
/** text_pool_unref() - the last reference frees it. @text: of the pool; NULL is allowed */
void text_pool_unref(const char *text);
