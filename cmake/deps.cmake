# Every third-party dependency, found once. Debian's CMake files and pkg-config point to the shared
# libraries, so each archive is named by file: a missing one is an error, never a silent .so.
# Sanitizer builds use the same archives with the dynamic C library.
find_package(Threads REQUIRED)

function(cdc_archive name file)
  find_library(CDC_ARCHIVE_${name} NAMES ${file} PATHS ${ARGN} REQUIRED)
  add_library(dep_${name} STATIC IMPORTED GLOBAL)
  set_target_properties(dep_${name} PROPERTIES IMPORTED_LOCATION ${CDC_ARCHIVE_${name}})
  add_library(dep::${name} ALIAS dep_${name})
endfunction()

cdc_archive(ssl libssl.a)
cdc_archive(crypto libcrypto.a)
cdc_archive(sqlite libsqlite3.a)
cdc_archive(yaml libyaml-cpp.a)
cdc_archive(pq_core libpq.a)
cdc_archive(pgcommon libpgcommon_shlib.a /usr/lib/postgresql/15/lib)
cdc_archive(pgport libpgport_shlib.a /usr/lib/postgresql/15/lib)

# libpq's archive refers to GSS-API and LDAP, which have no archives: the stubs answer
# "not available" for each entry point.
add_library(cdc_link_stubs STATIC ${PROJECT_SOURCE_DIR}/src/app/link/auth_stubs.c)
find_path(CDC_PQ_INCLUDE libpq-fe.h PATHS /usr/include/postgresql REQUIRED)
add_library(dep_pq INTERFACE)
add_library(dep::pq ALIAS dep_pq)
target_include_directories(dep_pq SYSTEM INTERFACE ${CDC_PQ_INCLUDE})
target_link_libraries(dep_pq INTERFACE
  "$<LINK_GROUP:RESCAN,dep_pq_core,dep_pgcommon,dep_pgport,dep_ssl,dep_crypto,cdc_link_stubs>"
  Threads::Threads ${CMAKE_DL_LIBS})
target_link_libraries(dep_sqlite INTERFACE Threads::Threads ${CMAKE_DL_LIBS} m)

find_library(CDC_GTEST libgtest.a REQUIRED)
find_library(CDC_GTEST_MAIN libgtest_main.a REQUIRED)
find_library(CDC_GMOCK libgmock.a REQUIRED)
add_library(dep_gtest_main INTERFACE)
add_library(dep::gtest_main ALIAS dep_gtest_main)
target_link_libraries(dep_gtest_main INTERFACE
  ${CDC_GMOCK} ${CDC_GTEST_MAIN} ${CDC_GTEST} Threads::Threads)

# Headers alone: Asio, Beast and JSON are compiled where they are included.
find_path(CDC_BOOST_INCLUDE boost/beast.hpp REQUIRED)
add_library(dep_boost INTERFACE)
add_library(dep::boost ALIAS dep_boost)
target_include_directories(dep_boost SYSTEM INTERFACE ${CDC_BOOST_INCLUDE})
target_link_libraries(dep_boost INTERFACE Threads::Threads)
