# SPDX-License-Identifier: Apache-2.0
# .proto -> messages, service descriptors and handler prototypes, in the build tree.

find_program(PROTOC_C protoc-c REQUIRED)

# protobuf_c_library(TARGET ROOT FILE...): files relative to ROOT
function(protobuf_c_library target root)
	set(out ${CMAKE_BINARY_DIR}/generated)
	set(sources)
	foreach(file ${ARGN})
		string(REGEX REPLACE "\\.proto$" ".pb-c" stem ${file})
		add_custom_command(
			OUTPUT ${out}/${stem}.c ${out}/${stem}.h
			COMMAND ${CMAKE_COMMAND} -E make_directory ${out}
			COMMAND ${PROTOC_C} --proto_path=${root} --c_out=${out} ${file}
			DEPENDS ${ARGN}
			WORKING_DIRECTORY ${root}
			VERBATIM)
		list(APPEND sources ${out}/${stem}.c)
	endforeach()
	add_library(${target} STATIC ${sources})
	target_include_directories(${target} PUBLIC ${out})
	target_compile_options(${target} PRIVATE -w)
	target_link_libraries(${target} PUBLIC PkgConfig::PROTOBUF_C)
	set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
endfunction()
