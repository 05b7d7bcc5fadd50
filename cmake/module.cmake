# cdc_module(NAME base SRCS a.cc b.cc [HEADERS a.h] [DEPS cdc::x] [PRIVATE_DEPS dep::y])
#   One folder = one static library = one namespace. DEPS are visible to users of the module,
#   PRIVATE_DEPS are not: a third-party library belongs there.
function(cdc_module)
  cmake_parse_arguments(ARG "" "NAME" "SRCS;DEPS;PRIVATE_DEPS" ${ARGN})
  add_library(cdc_${ARG_NAME} STATIC ${ARG_SRCS})
  add_library(cdc::${ARG_NAME} ALIAS cdc_${ARG_NAME})
  target_include_directories(cdc_${ARG_NAME} PUBLIC ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(cdc_${ARG_NAME}
    PUBLIC ${ARG_DEPS} PRIVATE cdc::flags ${ARG_PRIVATE_DEPS})
endfunction()

# cdc_test(NAME lsn_test SRCS lsn_test.cc DEPS cdc::base [LABELS unit] [TIMEOUT seconds])
#   One binary per test file; label `unit` unless another is given.
function(cdc_test)
  cmake_parse_arguments(ARG "" "NAME;TIMEOUT" "SRCS;DEPS;LABELS;ARGS" ${ARGN})
  if(NOT ARG_LABELS)
    set(ARG_LABELS unit)
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  add_executable(${ARG_NAME} ${ARG_SRCS})
  target_link_libraries(${ARG_NAME} PRIVATE cdc::flags ${ARG_DEPS} dep::gtest_main)
  add_test(NAME ${ARG_NAME} COMMAND ${ARG_NAME} ${ARG_ARGS})
  set_tests_properties(${ARG_NAME} PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT ${ARG_TIMEOUT})
endfunction()

# cdc_fuzz(NAME pgoutput_fuzz SRCS fuzz/pgoutput_fuzz.cc CORPUS fuzz/corpus/pgoutput DEPS cdc::x)
#   Defines LLVMFuzzerTestOneInput. With CDC_FUZZ it is a libFuzzer program; otherwise a small main
#   replays the corpus, so that every build runs every known input as a test.
function(cdc_fuzz)
  cmake_parse_arguments(ARG "" "NAME;CORPUS" "SRCS;DEPS" ${ARGN})
  if(CDC_FUZZ)
    add_executable(${ARG_NAME} ${ARG_SRCS})
    target_link_options(${ARG_NAME} PRIVATE -fsanitize=fuzzer)
    set_property(GLOBAL APPEND PROPERTY CDC_FUZZERS ${ARG_NAME})
  else()
    add_executable(${ARG_NAME} ${ARG_SRCS} ${PROJECT_SOURCE_DIR}/tests/fuzz_replay_main.cc)
  endif()
  target_link_libraries(${ARG_NAME} PRIVATE cdc::flags ${ARG_DEPS})
  if(CDC_FUZZ)
    add_test(NAME ${ARG_NAME} COMMAND ${ARG_NAME} -max_total_time=20 -rss_limit_mb=2048
             -print_final_stats=0 ${CMAKE_CURRENT_BINARY_DIR}/${ARG_NAME}_found
             ${CMAKE_CURRENT_SOURCE_DIR}/${ARG_CORPUS})
    file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/${ARG_NAME}_found)
    set_tests_properties(${ARG_NAME} PROPERTIES LABELS fuzz TIMEOUT 120)
  else()
    add_test(NAME ${ARG_NAME}_corpus
             COMMAND ${ARG_NAME} ${CMAKE_CURRENT_SOURCE_DIR}/${ARG_CORPUS})
    set_tests_properties(${ARG_NAME}_corpus PROPERTIES LABELS unit TIMEOUT 120)
  endif()
endfunction()
