#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "base/format.h"
#include "postgres/internal/doctor_checks.h"
#include "postgres/slot.h"

namespace cdc::postgres {

namespace {

constexpr std::int64_t kGibibyte = 1LL << 30U;
constexpr std::int64_t kMebibyte = 1LL << 20U;
constexpr std::string_view kOwnPrefix = "kaptanto_";

std::string drop_sql(const std::string& slot) {
  return cdc::format("SELECT pg_drop_replication_slot('{}')", slot);
}

void check_slots_free(const DoctorContext& context, Findings& findings) {
  const auto limit = context.number("max_replication_slots");
  if (!limit || !context.slots) {
    return;
  }
  const auto used = static_cast<std::int64_t>(context.slots->size());
  const std::string detail = cdc::format("{} of {} in use", used, *limit);
  if (context.own_slot() != nullptr || used < *limit) {
    findings.pass("slots_free", detail);
    return;
  }
  findings.fail(
      "slots_free",
      detail,
      cdc::format("ALTER SYSTEM SET max_replication_slots = {}; then restart the server, or "
                  "drop a slot that nobody uses",
                  *limit + 4));
}

void check_senders_free(const DoctorContext& context, Findings& findings) {
  const auto limit = context.number("max_wal_senders");
  const auto result =
      context.connection.query("SELECT count(*) FROM pg_catalog.pg_stat_replication");
  if (!result) {
    findings.fail("senders_free", result.error());
    return;
  }
  const std::int64_t used = result->integer(0, 0).value_or(0);
  const std::string detail = cdc::format("{} of {} in use", used, limit.value_or(0));
  const SlotRow* own = context.own_slot();
  if (used < limit.value_or(0) || (own != nullptr && own->active_pid)) {
    findings.pass("senders_free", detail);
    return;
  }
  findings.fail("senders_free",
                detail,
                cdc::format("ALTER SYSTEM SET max_wal_senders = {}; then restart the server",
                            limit.value_or(0) + 4));
}

// What makes an existing slot unusable; empty when nothing does.
std::string foreign_reason(const SlotRow& slot, std::string_view database) {
  if (!slot.logical) {
    return "is a physical slot";
  }
  if (slot.plugin != "pgoutput") {
    return "uses output plugin " + slot.plugin;
  }
  if (slot.database != database) {
    return "belongs to database " + slot.database;
  }
  if (slot.temporary || slot.two_phase) {
    return slot.temporary ? "is temporary" : "decodes prepared transactions";
  }
  return {};
}

void check_own_slot(const DoctorContext& context, Findings& findings) {
  if (!context.slots) {
    return;
  }
  const SlotRow* slot = context.own_slot();
  if (slot == nullptr) {
    findings.pass("slot", cdc::format("{} does not exist yet", slot_name(context.config)));
    return;
  }
  const std::string_view database = context.rights ? context.rights->database : slot->database;
  if (const std::string reason = foreign_reason(*slot, database); !reason.empty()) {
    findings.fail("slot",
                  cdc::format("{} {}", slot->name, reason),
                  "set postgres.slot to another name; a slot that does not exist is created");
  } else if (slot->lost()) {
    findings.fail(
        "slot",
        cdc::format("{} is lost ({}); changes after {} cannot be read any more",
                    slot->name,
                    slot->invalidation_reason.empty() ? "WAL removed" : slot->invalidation_reason,
                    to_string(slot->confirmed_flush)),
        "set postgres.accept-gap: true to create it anew and record the gap");
  } else if (slot->active_pid) {
    findings.warn("slot",
                  cdc::format("{} is in use by {}",
                              slot->name,
                              describe_backend(context.connection, *slot->active_pid)),
                  "only one process can stream from it");
  } else if (slot->wal_status == "unreserved") {
    findings.warn("slot",
                  slot->name + " is about to be lost: it retains more than max_slot_wal_keep_size",
                  "start the source soon, or raise max_slot_wal_keep_size");
  } else {
    findings.pass("slot",
                  cdc::format("{} stands at {}, WAL {}",
                              slot->name,
                              to_string(slot->confirmed_flush),
                              slot->wal_status));
  }
}

void check_retained_wal(const DoctorContext& context, Findings& findings) {
  const SlotRow* slot = context.own_slot();
  if (slot == nullptr || !slot->retained_bytes) {
    return;
  }
  std::string detail =
      cdc::format("{} retains {}", slot->name, format_bytes(*slot->retained_bytes));
  if (slot->safe_bytes) {
    detail += cdc::format(", lost after {} more", format_bytes(*slot->safe_bytes));
  }
  const bool near_limit = slot->safe_bytes && *slot->safe_bytes < *slot->retained_bytes;
  if (*slot->retained_bytes > kGibibyte || near_limit) {
    findings.warn("retained_wal",
                  detail,
                  cdc::format("start the source, or drop the slot if it is not needed: {}",
                              drop_sql(slot->name)));
    return;
  }
  findings.pass("retained_wal", detail);
}

void check_orphans(const DoctorContext& context, Findings& findings) {
  if (!context.slots) {
    return;
  }
  bool any = false;
  for (const SlotRow& slot : *context.slots) {
    if (!slot.name.starts_with(kOwnPrefix) || slot.active_pid ||
        slot.name == slot_name(context.config)) {
      continue;
    }
    any = true;
    findings.warn("orphan_slots",
                  cdc::format("{} (database {}) is not in use and retains {}",
                              slot.name,
                              slot.database,
                              slot.retained_bytes ? format_bytes(*slot.retained_bytes) : "nothing"),
                  cdc::format("if no other instance needs it: {}", drop_sql(slot.name)));
  }
  if (!any) {
    findings.pass("orphan_slots", "none");
  }
}

void check_slot_limits(const DoctorContext& context, Findings& findings) {
  const auto keep = context.number("max_slot_wal_keep_size");  // megabytes
  if (keep && *keep < 0) {
    findings.warn("max_slot_wal_keep_size",
                  "no limit: while the source is stopped its slot may fill the server's disk",
                  "ALTER SYSTEM SET max_slot_wal_keep_size = '50GB'; SELECT pg_reload_conf(), with "
                  "what the disk can spare");
  } else if (keep) {
    findings.pass("max_slot_wal_keep_size", format_bytes(*keep * kMebibyte));
  }
  // Server 18 and later. Seconds in every version that has it.
  const auto idle = context.number("idle_replication_slot_timeout");
  if (idle && *idle > 0) {
    findings.warn("idle_replication_slot_timeout",
                  cdc::format("the slot is lost when the source stops for {} s", *idle),
                  "ALTER SYSTEM SET idle_replication_slot_timeout = 0; SELECT pg_reload_conf()");
  }
}

void check_sender_timeout(const DoctorContext& context, Findings& findings) {
  const auto timeout = context.number("wal_sender_timeout");  // milliseconds
  constexpr std::int64_t kShort = 3'000;
  if (!timeout) {
    return;
  }
  if (*timeout == 0) {
    findings.warn("wal_sender_timeout",
                  "none: the server keeps a dead connection, and with it the slot, for long",
                  "ALTER SYSTEM SET wal_sender_timeout = '60s'; SELECT pg_reload_conf()");
    return;
  }
  const std::int64_t status =
      std::min<std::int64_t>(context.config.postgres.status_interval.count(), *timeout / 3);
  const std::string detail =
      cdc::format("{} ms; positions are reported every {} ms", *timeout, status);
  if (*timeout < kShort) {
    findings.warn(
        "wal_sender_timeout",
        detail,
        "ALTER SYSTEM SET wal_sender_timeout = '60s'; SELECT pg_reload_conf(), since short "
        "ones end the stream at every hiccup of the network");
    return;
  }
  findings.pass("wal_sender_timeout", detail);
}

void check_decoding_memory(const DoctorContext& context, Findings& findings) {
  const auto kilobytes = context.number("logical_decoding_work_mem");
  constexpr std::int64_t kSmall = 8'192;
  if (!kilobytes) {
    return;
  }
  const std::string detail = format_bytes(*kilobytes * 1024);
  if (*kilobytes < kSmall) {
    findings.warn("logical_decoding_work_mem",
                  detail + ": the server spills or streams transactions early",
                  "ALTER SYSTEM SET logical_decoding_work_mem = '64MB'; SELECT pg_reload_conf()");
    return;
  }
  findings.pass("logical_decoding_work_mem", detail);
}

void check_long_transactions(const DoctorContext& context, Findings& findings) {
  constexpr std::int64_t kLongSeconds = 300;
  const auto open = list_open_transactions(context.connection);
  if (!open) {
    findings.fail("long_transactions", open.error());
    return;
  }
  bool any = false;
  for (const OpenTransaction& transaction : *open) {
    if (transaction.age_seconds >= kLongSeconds) {
      any = true;
      findings.warn("long_transactions",
                    transaction.description +
                        ": a new slot waits for it, and an existing one retains its WAL",
                    transaction.fix);
    }
  }
  if (!any) {
    findings.pass("long_transactions", "no open transaction has been writing for five minutes");
  }
}

}  // namespace

void check_slots(const DoctorContext& context, Findings& findings) {
  check_slots_free(context, findings);
  check_senders_free(context, findings);
  check_own_slot(context, findings);
  check_retained_wal(context, findings);
  check_orphans(context, findings);
  check_slot_limits(context, findings);
  check_sender_timeout(context, findings);
  check_decoding_memory(context, findings);
  check_long_transactions(context, findings);
}

}  // namespace cdc::postgres
