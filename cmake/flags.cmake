# cdc::flags carries the language standard, the warnings and the hardening of every target of ours.
add_library(cdc_flags INTERFACE)
add_library(cdc::flags ALIAS cdc_flags)

target_compile_features(cdc_flags INTERFACE cxx_std_23)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

target_compile_options(cdc_flags INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:
    -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wold-style-cast
    -Wnon-virtual-dtor -Woverloaded-virtual -Wextra-semi -Wundef -Wcast-align -Wformat=2
    -Wimplicit-fallthrough>
  # A designated initialiser names what it sets; the rest has its default.
  $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wthread-safety -Wno-missing-designated-field-initializers>
  $<$<BOOL:${CDC_WERROR}>:-Werror>
  # __FILE__ names the file in the tree, not the machine it was compiled on; ccache makes the path
  # relative to the build folder first. Debuggers and coverage find sources from there.
  -ffile-prefix-map=${CMAKE_SOURCE_DIR}/= -fmacro-prefix-map=../../=
  -fstack-protector-strong -fno-omit-frame-pointer -ffunction-sections -fdata-sections)

target_compile_definitions(cdc_flags INTERFACE
  _GLIBCXX_ASSERTIONS
  $<$<CONFIG:Release,RelWithDebInfo>:_FORTIFY_SOURCE=2>)

target_link_options(cdc_flags INTERFACE -Wl,-z,relro,-z,now -Wl,--gc-sections)

# Sanitizer builds: optimised enough to run fast, cheap enough to compile twice per test run.
set(CMAKE_C_FLAGS_SANITIZE "-O1 -g1")
set(CMAKE_CXX_FLAGS_SANITIZE "-O1 -g1")

if(CDC_SANITIZE)
  target_compile_options(cdc_flags INTERFACE
    -fsanitize=${CDC_SANITIZE} -fno-sanitize-recover=all
    $<$<CXX_COMPILER_ID:Clang>:-fno-sanitize=function>)
  target_link_options(cdc_flags INTERFACE -fsanitize=${CDC_SANITIZE})
endif()

if(CDC_FUZZ)
  # Every module reports its branches to libFuzzer; only the fuzz programs link its main().
  target_compile_options(cdc_flags INTERFACE -fsanitize=fuzzer-no-link)
  target_link_options(cdc_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
if(CDC_COVERAGE)
  target_compile_options(cdc_flags INTERFACE -fprofile-instr-generate -fcoverage-mapping)
  target_link_options(cdc_flags INTERFACE -fprofile-instr-generate)
endif()

find_program(CDC_CCACHE ccache)
if(CDC_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${CDC_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${CMAKE_CXX_COMPILER_LAUNCHER})
endif()
find_program(CDC_LLD ld.lld-19)
if(CDC_LLD AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  add_link_options(-fuse-ld=lld)
endif()
