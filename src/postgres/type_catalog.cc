#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "postgres/value_kind.h"

namespace cdc::postgres {

namespace {

// pg_type.dat assigns these by hand and never reuses one, so they are the same in every server.
constexpr std::uint32_t kBool = 16;
constexpr std::uint32_t kInt8 = 20;
constexpr std::uint32_t kInt2 = 21;
constexpr std::uint32_t kInt4 = 23;
constexpr std::uint32_t kJson = 114;
constexpr std::uint32_t kFloat4 = 700;
constexpr std::uint32_t kFloat8 = 701;
constexpr std::uint32_t kTimestamp = 1114;
constexpr std::uint32_t kTimestampTz = 1184;
constexpr std::uint32_t kNumeric = 1700;
constexpr std::uint32_t kJsonb = 3802;
constexpr std::uint32_t kBox = 603;

// OIDs from here on are given out by initdb or by the running server: their meaning differs from
// one database to the next.
constexpr std::uint32_t kFirstUnfixedOid = 10'000;

// A type that stands on itself after more domains than this is a cycle or absurd.
constexpr int kDepthMax = 32;

struct ArrayOid {
  std::uint32_t array;
  std::uint32_t element;
};

// Each built-in array type, by OID. int2vector and oidvector are not here: their text has no
// braces.
constexpr std::array kArrays = std::to_array<ArrayOid>({
    {143, 142},    // xml
    {199, 114},    // json
    {210, 71},     // pg_type
    {270, 75},     // pg_attribute
    {271, 5069},   // xid8
    {272, 81},     // pg_proc
    {273, 83},     // pg_class
    {629, 628},    // line
    {651, 650},    // cidr
    {719, 718},    // circle
    {775, 774},    // macaddr8
    {791, 790},    // money
    {1000, 16},    // bool
    {1001, 17},    // bytea
    {1002, 18},    // char
    {1003, 19},    // name
    {1005, 21},    // int2
    {1006, 22},    // int2vector
    {1007, 23},    // int4
    {1008, 24},    // regproc
    {1009, 25},    // text
    {1010, 27},    // tid
    {1011, 28},    // xid
    {1012, 29},    // cid
    {1013, 30},    // oidvector
    {1014, 1042},  // bpchar
    {1015, 1043},  // varchar
    {1016, 20},    // int8
    {1017, 600},   // point
    {1018, 601},   // lseg
    {1019, 602},   // path
    {1020, 603},   // box
    {1021, 700},   // float4
    {1022, 701},   // float8
    {1027, 604},   // polygon
    {1028, 26},    // oid
    {1034, 1033},  // aclitem
    {1040, 829},   // macaddr
    {1041, 869},   // inet
    {1115, 1114},  // timestamp
    {1182, 1082},  // date
    {1183, 1083},  // time
    {1185, 1184},  // timestamptz
    {1187, 1186},  // interval
    {1231, 1700},  // numeric
    {1263, 2275},  // cstring
    {1270, 1266},  // timetz
    {1561, 1560},  // bit
    {1563, 1562},  // varbit
    {2201, 1790},  // refcursor
    {2207, 2202},  // regprocedure
    {2208, 2203},  // regoper
    {2209, 2204},  // regoperator
    {2210, 2205},  // regclass
    {2211, 2206},  // regtype
    {2287, 2249},  // record
    {2949, 2970},  // txid_snapshot
    {2951, 2950},  // uuid
    {3221, 3220},  // pg_lsn
    {3643, 3614},  // tsvector
    {3644, 3642},  // gtsvector
    {3645, 3615},  // tsquery
    {3735, 3734},  // regconfig
    {3770, 3769},  // regdictionary
    {3807, 3802},  // jsonb
    {3905, 3904},  // int4range
    {3907, 3906},  // numrange
    {3909, 3908},  // tsrange
    {3911, 3910},  // tstzrange
    {3913, 3912},  // daterange
    {3927, 3926},  // int8range
    {4073, 4072},  // jsonpath
    {4090, 4089},  // regnamespace
    {4097, 4096},  // regrole
    {4192, 4191},  // regcollation
    {5039, 5038},  // pg_snapshot
    {6150, 4451},  // int4multirange
    {6151, 4532},  // nummultirange
    {6152, 4533},  // tsmultirange
    {6153, 4534},  // tstzmultirange
    {6155, 4535},  // datemultirange
    {6157, 4536},  // int8multirange
});

static_assert(std::is_sorted(kArrays.begin(), kArrays.end(), [](ArrayOid a, ArrayOid b) {
  return a.array < b.array;
}));

// The element type of a built-in array; 0 for what is not one.
std::uint32_t built_in_element(std::uint32_t oid) noexcept {
  const auto* const found = std::lower_bound(
      kArrays.begin(), kArrays.end(), oid, [](ArrayOid entry, std::uint32_t wanted) {
        return entry.array < wanted;
      });
  return found != kArrays.end() && found->array == oid ? found->element : 0;
}

ValueKind number_kind(config::NumberFormat format) noexcept {
  return format == config::NumberFormat::kString ? ValueKind::kNumberText : ValueKind::kNumber;
}

// The kind of a built-in type that is not an array.
ValueKind built_in_kind(std::uint32_t oid, const config::ValueOptions& options) noexcept {
  switch (oid) {
    case kBool:
      return ValueKind::kBoolean;
    case kInt8:
      return number_kind(options.int8);
    case kNumeric:
      return number_kind(options.numeric);
    case kInt2:
    case kInt4:
    case kFloat4:
    case kFloat8:
      return ValueKind::kNumber;
    case kJson:
    case kJsonb:
      return ValueKind::kJson;
    case kTimestamp:
      return ValueKind::kTimestamp;
    case kTimestampTz:
      return ValueKind::kTimestampTz;
    default:
      return ValueKind::kText;
  }
}

ValueType array_of(ValueKind element, char delimiter) noexcept {
  // An array whose elements are domains over arrays has array text inside its quotes. The element
  // stays that text: ValueType describes one level of element.
  const bool nested = element == ValueKind::kArray;
  return {.kind = ValueKind::kArray,
          .element = nested ? ValueKind::kText : element,
          .delimiter = delimiter};
}

// Under values.mode text each value is PostgreSQL's text. What conditions compare stays the same.
ValueKind text_mode_kind(ValueKind kind) noexcept {
  switch (kind) {
    case ValueKind::kNumber:
    case ValueKind::kNumberText:
      return ValueKind::kNumberText;
    case ValueKind::kBoolean:
    case ValueKind::kBooleanText:
      return ValueKind::kBooleanText;
    default:
      return ValueKind::kText;
  }
}

}  // namespace

void TypeCatalog::load(const std::vector<TypeRow>& rows) {
  rows_.clear();
  rows_.reserve(rows.size());
  highest_ = 0;
  for (const TypeRow& row : rows) {
    rows_.insert_or_assign(row.oid, row);
    highest_ = std::max(highest_, row.oid);
  }
}

ValueType TypeCatalog::resolve(std::uint32_t type_oid) const {
  const ValueType type = resolve_depth(type_oid, 0);
  if (options_.mode == config::ValueMode::kText) {
    return {.kind = text_mode_kind(type.kind)};
  }
  return type;
}

bool TypeCatalog::knows(std::uint32_t type_oid) const {
  return type_oid < kFirstUnfixedOid || type_oid <= highest_;
}

ValueType TypeCatalog::resolve_depth(std::uint32_t type_oid, int depth) const {
  if (depth > kDepthMax) {
    return {};
  }
  if (type_oid < kFirstUnfixedOid) {
    const std::uint32_t element = built_in_element(type_oid);
    if (element != 0) {
      return array_of(built_in_kind(element, options_), element == kBox ? ';' : ',');
    }
    return {.kind = built_in_kind(type_oid, options_)};
  }
  const auto found = rows_.find(type_oid);
  if (found == rows_.end()) {
    return {};
  }
  const TypeRow& row = found->second;
  if (row.base_oid != 0) {
    return resolve_depth(row.base_oid, depth + 1);
  }
  if (row.element_oid != 0) {
    return array_of(resolve_depth(row.element_oid, depth + 1).kind, row.delimiter);
  }
  return {};
}

}  // namespace cdc::postgres
