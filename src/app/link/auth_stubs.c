/* Debian's libpq archive refers to GSS-API and LDAP, of which Kerberos has no archive at all.
   Each entry point here answers "not available", which libpq reports as a clean error: GSS
   authentication, GSS encryption and LDAP service files are not part of this binary. */
#include <stddef.h>

enum {
  kGssUnavailable = 16 << 16
}; /* GSS_S_UNAVAILABLE */

const void* GSS_C_NT_HOSTBASED_SERVICE = NULL;

#define GSS_UNAVAILABLE(name)      \
  unsigned name(unsigned* minor) { \
    if (minor != NULL) {           \
      *minor = 0;                  \
    }                              \
    return kGssUnavailable;        \
  }

GSS_UNAVAILABLE(gss_acquire_cred)
GSS_UNAVAILABLE(gss_delete_sec_context)
GSS_UNAVAILABLE(gss_display_status)
GSS_UNAVAILABLE(gss_import_name)
GSS_UNAVAILABLE(gss_init_sec_context)
GSS_UNAVAILABLE(gss_unwrap)
GSS_UNAVAILABLE(gss_wrap)
GSS_UNAVAILABLE(gss_wrap_size_limit)
GSS_UNAVAILABLE(gss_inquire_context)
GSS_UNAVAILABLE(gss_display_name)

unsigned gss_release_buffer(unsigned* minor, void* buffer) {
  (void)buffer;
  if (minor != NULL) {
    *minor = 0;
  }
  return 0;
}

unsigned gss_release_cred(unsigned* minor, void** credential) {
  if (credential != NULL) {
    *credential = NULL;
  }
  if (minor != NULL) {
    *minor = 0;
  }
  return 0;
}

unsigned gss_release_name(unsigned* minor, void** name) {
  return gss_release_cred(minor, name);
}

/* ldap_init() returning NULL is libpq's own error path; the rest is never reached. */
void* ldap_init(const char* host, int port) {
  (void)host;
  (void)port;
  return NULL;
}

#define LDAP_FAILS(name) \
  int name(void) {       \
    return -1;           \
  }
#define LDAP_NULL(name) \
  void* name(void) {    \
    return NULL;        \
  }

LDAP_FAILS(ldap_count_entries)
LDAP_NULL(ldap_first_entry)
LDAP_NULL(ldap_get_values_len)
LDAP_FAILS(ldap_msgfree)
LDAP_FAILS(ldap_result)
LDAP_FAILS(ldap_search_st)
LDAP_FAILS(ldap_set_option)
LDAP_FAILS(ldap_simple_bind)
LDAP_FAILS(ldap_unbind)
LDAP_FAILS(ldap_value_free_len)

const char* ldap_err2string(int error) {
  (void)error;
  return "LDAP is not built in";
}
