# SPDX-License-Identifier: Apache-2.0
# A text file as the initialiser of a char array: cmake -DFROM=FILE -DTO=FILE -P Embed.cmake
file(READ ${FROM} bytes HEX)
string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
file(WRITE ${TO} "/* generated from ${FROM} */\n${bytes}0x00\n")
