# SPDX-License-Identifier: Apache-2.0
# NAME.bpf.c ... -> one linked object -> skeleton header, in the build tree.

find_program(BPF_CLANG NAMES clang clang-19 clang-16 clang-14 REQUIRED)
find_program(BPFTOOL bpftool PATHS /usr/sbin /sbin REQUIRED)

if(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
	set(BPF_ARCH arm64)
else()
	set(BPF_ARCH x86)
endif()

# bpf_skeleton(TARGET NAME FILE...): include "NAME.skel.h" after linking TARGET
function(bpf_skeleton target name)
	set(out ${CMAKE_BINARY_DIR}/generated)
	set(objects)
	file(GLOB headers CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/bpf/*.h ${CMAKE_SOURCE_DIR}/bpf/*.def)
	foreach(file ${ARGN})
		get_filename_component(stem ${file} NAME_WE)
		add_custom_command(
			OUTPUT ${out}/${stem}.bpf.o
			COMMAND ${CMAKE_COMMAND} -E make_directory ${out}
			COMMAND ${BPF_CLANG} -g -O2 -Wall -Wextra -Werror -target bpf -mcpu=v3 -D__TARGET_ARCH_${BPF_ARCH} -D__bpf__
				-I${CMAKE_SOURCE_DIR}/bpf -c ${CMAKE_CURRENT_SOURCE_DIR}/${file} -o ${out}/${stem}.bpf.o
			DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${file} ${headers}
			VERBATIM)
		list(APPEND objects ${out}/${stem}.bpf.o)
	endforeach()
	add_custom_command(
		OUTPUT ${out}/${name}.skel.h
		COMMAND ${BPFTOOL} gen object ${out}/${name}.linked.o ${objects}
		COMMAND ${BPFTOOL} gen skeleton ${out}/${name}.linked.o name ${name} > ${out}/${name}.skel.h
		DEPENDS ${objects}
		VERBATIM)
	add_custom_target(${target}_skeleton DEPENDS ${out}/${name}.skel.h)
	add_library(${target} INTERFACE)
	add_dependencies(${target} ${target}_skeleton)
	target_include_directories(${target} SYSTEM INTERFACE ${out})
	target_link_libraries(${target} INTERFACE PkgConfig::LIBBPF)
endfunction()
