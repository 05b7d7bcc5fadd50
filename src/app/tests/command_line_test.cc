// Proves how words become a command and its flags, wherever the flags stand, and that every wrong
// word is answered with what was meant and never with a secret.
#include "app/command_line.h"

#include <gtest/gtest.h>

namespace cdc::app {
namespace {

using Words = std::vector<std::string>;

CommandLine parsed(const Words& words) {
  auto line = parse_command_line(words);
  EXPECT_TRUE(line.has_value()) << (line ? "" : line.error().to_string());
  return line.value_or(CommandLine{});
}

std::string fault(const Words& words) {
  const auto line = parse_command_line(words);
  EXPECT_TRUE(line || line.error().code == Errc::kInvalidArgument);
  return line ? "accepted" : line.error().to_string();
}

TEST(CommandLine, NoCommandRuns) {
  const CommandLine line = parsed({});
  EXPECT_EQ(line.command, "run");
  EXPECT_FALSE(line.command_given);
  EXPECT_TRUE(line.configuration_flags.empty());
  EXPECT_TRUE(parsed({"run"}).command_given);
}

TEST(CommandLine, FlagsStandBeforeAndAfterTheCommand) {
  for (const Words& words : {Words{"--port", "1", "--config=c.yaml", "validate", "--json"},
                             Words{"validate", "--json", "--port=1", "--config", "c.yaml"},
                             Words{"--json", "validate", "--config", "c.yaml", "--port", "1"}}) {
    const CommandLine line = parsed(words);
    EXPECT_EQ(line.command, "validate");
    EXPECT_TRUE(line.json);
    EXPECT_EQ(line.config, "c.yaml");
    EXPECT_EQ(line.configuration_flags.at("port"), Words{"1"});
  }
}

TEST(CommandLine, ACommandMayHaveFlagsWithValues) {
  const CommandLine line = parsed(
      {"backfill", "start", "--port", "9", R"(public."We.ird")", "--where", "a = 'b' AND c >= 1"});
  EXPECT_EQ(line.command, "backfill start");
  EXPECT_EQ(line.argument, R"(public."We.ird")");
  EXPECT_EQ(line.value_of("where"), "a = 'b' AND c >= 1");
  EXPECT_EQ(line.configuration_flags.at("port"), Words{"9"});
  EXPECT_EQ(parsed({"backfill", "start", "--where=a=1", "t"}).value_of("where"), "a=1");
  EXPECT_EQ(parsed({"backfill", "start", "--where=", "t"}).argument, "t");
  EXPECT_EQ(parsed({"backfill", "status"}).argument, "");
  EXPECT_EQ(fault({"backfill", "pause"}), "`kaptanto backfill pause` needs TABLE");
  EXPECT_EQ(fault({"backfill", "start", "t", "--where"}), "--where needs a value");
  EXPECT_EQ(fault({"backfill", "pause", "t", "--where", "x"}),
            "--where is no flag of `kaptanto backfill pause` (it belongs to `kaptanto backfill "
            "start`)");
}

TEST(CommandLine, EveryValueIsKeptAsItIs) {
  const CommandLine line = parsed({"--tables",
                                   R"(a,public."We,ird")",
                                   "--tables=b",
                                   "--tables",
                                   "[x,y]",
                                   "--source",
                                   "--tables",
                                   "--retention",
                                   "-1h",
                                   "--data-dir",
                                   "validate",
                                   "--postgres-slot=",
                                   "--source-id=a=b"});
  EXPECT_EQ(line.command, "run");
  EXPECT_EQ(line.configuration_flags.at("tables"), (Words{R"(a,public."We,ird")", "b", "[x,y]"}));
  EXPECT_EQ(line.configuration_flags.at("source"), Words{"--tables"});
  EXPECT_EQ(line.configuration_flags.at("retention"), Words{"-1h"});
  EXPECT_EQ(line.configuration_flags.at("data-dir"), Words{"validate"});
  EXPECT_EQ(line.configuration_flags.at("postgres-slot"), Words{""});
  EXPECT_EQ(line.configuration_flags.at("source-id"), Words{"a=b"});
}

TEST(CommandLine, SwitchesTakeAValueOnlyBehindAnEqualsSign) {
  const CommandLine line = parsed({"--all-tables", "--ha=false", "--postgres-streaming=no"});
  EXPECT_EQ(line.configuration_flags.at("all-tables"), Words{"true"});
  EXPECT_EQ(line.configuration_flags.at("ha"), Words{"false"});
  EXPECT_EQ(line.configuration_flags.at("postgres-streaming"), Words{"no"});
}

TEST(CommandLine, CommandsHaveArgumentsAndFlagsOfTheirOwn) {
  const CommandLine inspect = parsed({"journal", "inspect", "--events", "doctor", "--json"});
  EXPECT_EQ(inspect.command, "journal inspect");
  EXPECT_EQ(inspect.argument, "doctor");
  EXPECT_TRUE(inspect.has("events"));
  EXPECT_TRUE(inspect.json);
  EXPECT_EQ(parsed({"completion", "fish"}).argument, "fish");
  EXPECT_TRUE(parsed({"schema", "--markdown"}).has("markdown"));
  EXPECT_EQ(parsed({"help", "doctor"}).argument, "doctor");
  EXPECT_EQ(parsed({"help"}).argument, "");
}

TEST(CommandLine, HelpAndVersionNeedNothingElse) {
  for (const Words& words : {Words{"--help"},
                             Words{"-h"},
                             Words{"journal", "--help"},
                             Words{"completion", "-h"},
                             Words{"--help", "doctor"}}) {
    EXPECT_TRUE(parsed(words).help);
  }
  EXPECT_TRUE(parsed({"--version"}).version);
  EXPECT_TRUE(parsed({"-v"}).version);
  EXPECT_EQ(parsed({"--help", "doctor"}).command, "doctor");
}

TEST(CommandLine, WrongWordsAreAnsweredWithWhatWasMeant) {
  EXPECT_EQ(fault({"--tabels", "t"}), "unknown flag --tabels (did you mean --tables?)");
  EXPECT_EQ(fault({"--sorce=hush"}), "unknown flag --sorce (did you mean --source?)");
  EXPECT_EQ(fault({"--zebra"}), "unknown flag --zebra (see `kaptanto --help`)");
  EXPECT_EQ(fault({"-z"}), "unknown flag -z (see `kaptanto --help`)");
  EXPECT_EQ(fault({"validat"}), "unknown command \"validat\" (did you mean \"validate\"?)");
  EXPECT_EQ(fault({"run", "extra"}),
            "`kaptanto run` takes no argument \"extra\" (see `kaptanto run --help`)");
  EXPECT_EQ(fault({"validate", "doctor"}),
            "`kaptanto validate` takes no argument \"doctor\" (see `kaptanto validate --help`)");
  EXPECT_EQ(
      fault({"validate", "--events"}),
      "--events is no flag of `kaptanto validate` (it belongs to `kaptanto journal inspect`)");
  EXPECT_EQ(fault({"--source"}), "--source needs a value");
  EXPECT_EQ(fault({"--tables", "a", "--tables"}), "--tables needs a value");
  EXPECT_EQ(fault({"journal"}),
            "`kaptanto journal` needs a command (there is `kaptanto journal inspect`)");
  EXPECT_EQ(fault({"journal", "inspect"}), "`kaptanto journal inspect` needs DIR");
  EXPECT_EQ(fault({"journal", "inspekt"}),
            "`kaptanto journal` takes no argument \"inspekt\" (see `kaptanto journal --help`)");
  EXPECT_EQ(fault({"completion"}), "`kaptanto completion` needs SHELL (one of: bash, zsh, fish)");
  EXPECT_EQ(fault({"completion", "tcsh"}),
            "`kaptanto completion` does not know \"tcsh\" (one of: bash, zsh, fish)");
}

TEST(CommandLine, WordsThatMayBeSecretAreNotRepeated) {
  for (const Words& words : {Words{"postgres://u:hush@h/db"},
                             Words{"validate", "password=hush"},
                             Words{"-phush"},
                             Words{"--pasword=hush"},
                             Words{"--source", "x", "hush@h"}}) {
    EXPECT_FALSE(fault(words).contains("hush")) << fault(words);
  }
  EXPECT_TRUE(fault({"postgres://u:hush@h/db"}).contains("--source"));
}

TEST(CommandLine, NeverThrows) {
  for (const Words& words : {Words{""},
                             Words{"-"},
                             Words{"--"},
                             Words{"--", "x"},
                             Words{"--="},
                             Words{"---"},
                             Words{"-="},
                             Words{"--json=x"},
                             Words{"--help=maybe"},
                             Words{"run", "run"},
                             Words{"journal", "journal"},
                             Words{"help", "help"},
                             Words{"++"},
                             Words{"\xff\xfe"}}) {
    static_cast<void>(parse_command_line(words).has_value());
  }
}

}  // namespace
}  // namespace cdc::app
