// SPDX-License-Identifier: Apache-2.0
/*
 * Modules, libraries and what they hold: names, kept; code, not looked at.
 */
#pragma once

struct module;
struct function;

/** driver_module_load_data() - a new module of any bytes */
int driver_module_load_data(struct module **ret_module, const void *image);
/** driver_module_unload() */
int driver_module_unload(struct module *module);
/** module_of_image() - the newest module that was loaded from there; NULL for none */
struct module *module_of_image(const void *image);
