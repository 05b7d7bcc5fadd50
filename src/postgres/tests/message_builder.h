#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Builds pgoutput messages for tests, byte by byte as the documentation describes them.
namespace cdc::postgres::testing {

class Wire {
 public:
  Wire& u8(unsigned value) { return number(value, 1); }

  Wire& u16(unsigned value) { return number(value, 2); }

  Wire& u32(std::uint64_t value) { return number(value, 4); }

  Wire& u64(std::uint64_t value) { return number(value, 8); }

  Wire& text(std::string_view value) {
    bytes_ += value;
    return *this;
  }

  Wire& c_string(std::string_view value) { return text(value).u8(0); }

  [[nodiscard]] std::string take() const { return bytes_; }

 private:
  Wire& number(std::uint64_t value, int width) {
    for (int i = width - 1; i >= 0; --i) {
      bytes_ += static_cast<char>((value >> (8 * i)) & 255U);
    }
    return *this;
  }

  std::string bytes_;
};

struct TestColumn {
  std::string name;
  std::uint32_t type_oid = 25;
  bool identity = false;
};

// nullopt: null. "\x01": unchanged.
using TestValue = std::optional<std::string>;
inline const TestValue kUnchanged = "\x01";
using TestRow = std::vector<TestValue>;

inline void put_tuple(Wire& wire, const TestRow& row) {
  wire.u16(static_cast<unsigned>(row.size()));
  for (const TestValue& value : row) {
    if (!value) {
      wire.text("n");
    } else if (value == kUnchanged) {
      wire.text("u");
    } else {
      wire.text("t").u32(value->size()).text(*value);
    }
  }
}

// `xid`: inside a streamed block.
inline Wire open_message(char type, std::optional<std::uint32_t> xid) {
  Wire wire;
  wire.u8(static_cast<unsigned char>(type));
  if (xid) {
    wire.u32(*xid);
  }
  return wire;
}

inline std::string begin(std::uint64_t commit_lsn, std::uint32_t xid, std::uint64_t time = 0) {
  return Wire{}.text("B").u64(commit_lsn).u64(time).u32(xid).take();
}

inline std::string commit(std::uint64_t commit_lsn, std::uint64_t end_lsn, std::uint64_t time = 0) {
  return Wire{}.text("C").u8(0).u64(commit_lsn).u64(end_lsn).u64(time).take();
}

inline std::string relation(std::uint32_t oid,
                            std::string_view table,
                            char identity,
                            const std::vector<TestColumn>& columns,
                            std::optional<std::uint32_t> xid = {}) {
  Wire wire = open_message('R', xid);
  wire.u32(oid).c_string("public").c_string(table).u8(static_cast<unsigned char>(identity));
  wire.u16(static_cast<unsigned>(columns.size()));
  for (const TestColumn& column : columns) {
    wire.u8(column.identity ? 1 : 0).c_string(column.name).u32(column.type_oid).u32(0xFFFFFFFF);
  }
  return wire.take();
}

inline std::string insert(std::uint32_t oid,
                          const TestRow& row,
                          std::optional<std::uint32_t> xid = {}) {
  Wire wire = open_message('I', xid);
  wire.u32(oid).text("N");
  put_tuple(wire, row);
  return wire.take();
}

// `tag`: 'K' key, 'O' whole old row, 0 none.
inline std::string update(std::uint32_t oid,
                          char tag,
                          const TestRow& old_row,
                          const TestRow& row,
                          std::optional<std::uint32_t> xid = {}) {
  Wire wire = open_message('U', xid);
  wire.u32(oid);
  if (tag != 0) {
    wire.u8(static_cast<unsigned char>(tag));
    put_tuple(wire, old_row);
  }
  wire.text("N");
  put_tuple(wire, row);
  return wire.take();
}

inline std::string remove(std::uint32_t oid,
                          char tag,
                          const TestRow& old_row,
                          std::optional<std::uint32_t> xid = {}) {
  Wire wire = open_message('D', xid);
  wire.u32(oid).u8(static_cast<unsigned char>(tag));
  put_tuple(wire, old_row);
  return wire.take();
}

inline std::string truncate(std::initializer_list<std::uint32_t> oids, unsigned options) {
  Wire wire;
  wire.text("T").u32(oids.size()).u8(options);
  for (const std::uint32_t oid : oids) {
    wire.u32(oid);
  }
  return wire.take();
}

inline std::string message(bool transactional,
                           std::uint64_t lsn,
                           std::string_view prefix,
                           std::string_view content) {
  return Wire{}
      .text("M")
      .u8(transactional ? 1 : 0)
      .u64(lsn)
      .c_string(prefix)
      .u32(content.size())
      .text(content)
      .take();
}

inline std::string stream_start(std::uint32_t xid, bool first) {
  return Wire{}.text("S").u32(xid).u8(first ? 1 : 0).take();
}

inline std::string stream_stop() {
  return "E";
}

inline std::string stream_commit(std::uint32_t xid, std::uint64_t commit_lsn, std::uint64_t end) {
  return Wire{}.text("c").u32(xid).u8(0).u64(commit_lsn).u64(end).u64(0).take();
}

inline std::string stream_abort(std::uint32_t xid, std::uint32_t subxid) {
  return Wire{}.text("A").u32(xid).u32(subxid).take();
}

}  // namespace cdc::postgres::testing
