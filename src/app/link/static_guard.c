/* Static glibc only. A static program that loads a foreign system's NSS or OpenSSL modules crashes,
   so name service is fixed to files and DNS, and openssl.cnf is not read. This must run before
   every other constructor, some of which initialise OpenSSL. */
#include <nss.h>

#include <openssl/crypto.h>

extern int __nss_configure_lookup(const char* database, const char* services);

__attribute__((constructor(101))) static void static_guard(void) {
  static const char* const kDatabases[] = {"passwd", "group", "services", "protocols"};
  for (unsigned i = 0; i < sizeof kDatabases / sizeof *kDatabases; i++) {
    __nss_configure_lookup(kDatabases[i], "files");
  }
  __nss_configure_lookup("hosts", "files dns");
  OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, NULL);
}
