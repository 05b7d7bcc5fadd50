#pragma once

#include "http/router.h"
#include "snapshot/control.h"

namespace cdc::serve {

// The admin API: docs/operating/backfill.md.
//
//   GET  /api/v1/backfills
//   POST /api/v1/backfills                              {"table":"…","where":"…"}
//   GET  /api/v1/backfills/{table}
//   POST /api/v1/backfills/{table}/pause|resume|cancel
//
// Lifetime: `control` outlives the server that gets the router. Thread: the handlers run on the
// server's and call `control` there.
void add_admin_routes(http::Router& router, snapshot::Control& control);

}  // namespace cdc::serve
