# SPDX-License-Identifier: Apache-2.0
# Warnings, sanitizers and hardening: one interface target, no directory sets its own.

option(INGERO_WERROR "Warnings are errors" OFF)
set(INGERO_SANITIZE "" CACHE STRING "Sanitizers, comma-separated: address,undefined or thread")
set(INGERO_BACK_END auto CACHE STRING "How calls are intercepted unless an option says it: auto, session, multi or perf")
option(INGERO_CHECK_STACKS "Walk each stack that the memo has found, too, and count differences" OFF)
set(INGERO_OPERATIONS default CACHE STRING "Which operations are traced unless an option says it: default or all")

add_library(ingero_flags INTERFACE)
target_include_directories(ingero_flags INTERFACE ${CMAKE_SOURCE_DIR})
target_compile_definitions(ingero_flags INTERFACE _GNU_SOURCE INGERO_VERSION="${PROJECT_VERSION}"
	INGERO_BACK_END="${INGERO_BACK_END}" INGERO_OPERATIONS="${INGERO_OPERATIONS}"
	INGERO_CHECK_STACKS=$<BOOL:${INGERO_CHECK_STACKS}>)
target_compile_options(ingero_flags INTERFACE
	-fvisibility=hidden -fno-omit-frame-pointer
	-UNDEBUG # assert() is of what our own code promises, never of input: a release keeps it
	-Wall -Wextra -Wshadow -Wformat=2 -Wvla -Wundef
	$<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes -Wmissing-prototypes>)
if(INGERO_WERROR)
	target_compile_options(ingero_flags INTERFACE -Werror)
endif()
if(INGERO_SANITIZE)
	target_compile_options(ingero_flags INTERFACE -fsanitize=${INGERO_SANITIZE} -fno-sanitize-recover=all)
	target_link_options(ingero_flags INTERFACE -fsanitize=${INGERO_SANITIZE})
	target_compile_definitions(ingero_flags INTERFACE INGERO_SANITIZED)
else()
	target_compile_options(ingero_flags INTERFACE -fstack-protector-strong $<$<NOT:$<CONFIG:Debug>>:-D_FORTIFY_SOURCE=2>)
	target_link_options(ingero_flags INTERFACE -Wl,-z,relro,-z,now)
endif()
