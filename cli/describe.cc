#include "describe.h"

#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "words.h"

namespace sdx::cli {
namespace {

std::vector<const CLI::App*> commands_of(const CLI::App& program) {
  return program.get_subcommands([](const CLI::App*) { return true; });
}

struct Flag {
  std::string names;                 // "--threads", "-h,--help"
  std::string longest;               // "--threads"
  std::string value;                 // "INT", "{on,off}", "" for a switch
  std::vector<std::string> choices;  // of {on,off}
  std::string text;
  bool positional = false;
};

std::vector<Flag> flags_of(const CLI::App& app) {
  std::vector<Flag> flags;
  for (const CLI::Option* option : app.get_options()) {
    Flag flag;
    flag.positional = option->get_positional();
    flag.text = option->get_description();
    flag.names = option->get_name(flag.positional);
    for (const std::string& name : option->get_lnames()) flag.longest = "--" + name;
    if (option->get_items_expected_max() > 0) flag.value = option->get_type_name();
    if (const size_t open = flag.value.find('{'); open != std::string::npos) {
      std::string list = flag.value.substr(open + 1, flag.value.find('}') - open - 1);
      flag.value = "{" + list + "}";
      for (size_t at = 0; at <= list.size();) {
        const size_t comma = std::min(list.find(',', at), list.size());
        flag.choices.push_back(list.substr(at, comma - at));
        at = comma + 1;
      }
    } else if (const size_t colon = flag.value.find(':'); colon != std::string::npos) {
      flag.value.resize(colon);  // a check, such as POSITIVE, is not for people
    }
    flags.push_back(std::move(flag));
  }
  return flags;
}

// `text` with every character of `special` behind `escape`.
std::string with_escapes(const std::string& text, std::string_view special,
                         std::string_view escape) {
  std::string out;
  for (const char c : text) {
    if (special.find(c) != std::string_view::npos) out += escape;
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

std::string names_of(const std::vector<const CLI::App*>& commands) {
  std::vector<std::string> names;
  names.reserve(commands.size());
  for (const CLI::App* command : commands) names.push_back(command->get_name());
  return fmt::format("{}", fmt::join(names, " "));
}

std::string bash(const CLI::App& program) {
  const auto commands = commands_of(program);
  std::string options, values;
  for (const CLI::App* command : commands) {
    std::string words;
    for (const Flag& flag : flags_of(*command)) {
      if (flag.longest.empty()) continue;
      words += (words.empty() ? "" : " ") + flag.longest;
      if (!flag.choices.empty()) {
        values += fmt::format("    {}:{}) words=\"{}\" ;;\n", command->get_name(), flag.longest,
                              fmt::join(flag.choices, " "));
      }
    }
    options += fmt::format("    {}) words=\"{}\" ;;\n", command->get_name(), words);
  }
  return fmt::format(
      R"(# Completion of sardonyx for bash: source it, or put it into bash-completion's folder.
_sardonyx() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} command=${{COMP_WORDS[1]}} words=
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "{}" -- "$word"))
    return
  fi
  case $command:$before in
{}  esac
  if [ -n "$words" ]; then
    COMPREPLY=($(compgen -W "$words" -- "$word"))
    return
  fi
  case $command in
{}  esac
  if [[ $word == -* ]]; then
    COMPREPLY=($(compgen -W "$words" -- "$word"))
  else
    COMPREPLY=($(compgen -f -- "$word"))
  fi
}}
complete -o filenames -F _sardonyx sardonyx
)",
      names_of(commands), values, options);
}

std::string zsh(const CLI::App& program) {
  std::string list, cases;
  for (const CLI::App* command : commands_of(program)) {
    list += fmt::format("    '{}:{}'\n", command->get_name(),
                        with_escapes(command->get_description(), "'", "'\\'"));
    cases += fmt::format("    {})\n      _arguments", command->get_name());
    for (const Flag& flag : flags_of(*command)) {
      const std::string text = with_escapes(with_escapes(flag.text, "'", "'\\'"), "[]:", "\\");
      if (flag.positional) {
        cases += " \\\n        '*:file:_files'";
      } else if (!flag.longest.empty()) {
        cases += fmt::format(" \\\n        '*{}[{}]{}'", flag.longest, text,
                             flag.value.empty() ? std::string()
                             : flag.choices.empty()
                                 ? std::string(":value:_files")
                                 : fmt::format(":value:({})", fmt::join(flag.choices, " ")));
      }
    }
    cases += "\n      ;;\n";
  }
  return fmt::format(R"(#compdef sardonyx
# Completion of sardonyx for zsh: put it as _sardonyx into a folder of $fpath.
_sardonyx() {{
  local -a commands
  commands=(
{}  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  local command=$words[2]
  shift words
  (( CURRENT-- ))
  case $command in
{}  esac
}}
_sardonyx "$@"
)",
                     list, cases);
}

std::string fish(const CLI::App& program) {
  const auto commands = commands_of(program);
  std::string text = "# Completion of sardonyx for fish: put it into ~/.config/fish/completions.\n";
  const std::string names = names_of(commands);
  for (const CLI::App* command : commands) {
    text += fmt::format(
        "complete -c sardonyx -n 'not __fish_seen_subcommand_from {}' -f -a {} -d '{}'\n", names,
        command->get_name(), with_escapes(command->get_description(), "'\\", "\\"));
    for (const Flag& flag : flags_of(*command)) {
      if (flag.longest.empty()) continue;
      text += fmt::format(
          "complete -c sardonyx -n '__fish_seen_subcommand_from {}' -l {}{} -d '{}'\n",
          command->get_name(), flag.longest.substr(2),
          flag.value.empty()     ? std::string()
          : flag.choices.empty() ? std::string(" -r")
                                 : fmt::format(" -x -a '{}'", fmt::join(flag.choices, " ")),
          with_escapes(flag.text, "'\\", "\\"));
    }
  }
  return text;
}

std::string roff(const std::string& text) {
  std::string out = with_escapes(text, "\\", "\\");
  std::string dashed;
  for (const char c : out) dashed += c == '-' ? "\\-" : std::string(1, c);
  if (!dashed.empty() && (dashed[0] == '.' || dashed[0] == '\'')) dashed.insert(0, "\\&");
  return dashed;
}

}  // namespace

std::string completion(const CLI::App& program, const std::string& shell) {
  return shell == "bash" ? bash(program) : shell == "zsh" ? zsh(program) : fish(program);
}

std::string manual(const CLI::App& program) {
  std::string text = fmt::format(
      ".TH SARDONYX 1 \"\" \"Sardonyx\" \"User Commands\"\n.SH NAME\nsardonyx \\- check, show and "
      "run "
      "ONNX models\n.SH SYNOPSIS\n.B sardonyx\n.I COMMAND\n[\\fIoptions\\fR]\n.SH "
      "DESCRIPTION\n{}\n",
      roff(program.get_description()));
  text += ".SH COMMANDS\n";
  for (const CLI::App* command : commands_of(program)) {
    text +=
        fmt::format(".SS {}\n{}\n", roff(command->get_name()), roff(command->get_description()));
    for (const Flag& flag : flags_of(*command)) {
      text += fmt::format(".TP\n\\fB{}\\fR{}\n{}\n", roff(flag.names),
                          flag.value.empty() ? "" : " \\fI" + roff(flag.value) + "\\fR",
                          roff(flag.text));
    }
  }
  text +=
      ".SH EXIT STATUS\n.TP\n.B 0\ndone\n.TP\n.B 1\nthe model or a test is wrong, or two runs "
      "differ\n.TP\n.B 2\nsomething could not be read or was asked for wrongly\n"
      ".SH ENVIRONMENT\n.TP\n.B NO_COLOR\nif set and not empty, nothing is coloured\n"
      ".TP\n.B SARDONYX_ISA\nthe most that may be used of the machine's instruction set: portable, "
      "avx2, avx512 or neon; changes speed, never a bit\n";
  return text;
}

std::string meant(const CLI::App& program, int argc, char** argv) {
  const auto commands = commands_of(program);
  const CLI::App* chosen = nullptr;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (chosen == nullptr && !word.starts_with("-")) {
      std::vector<std::string> names;
      for (const CLI::App* command : commands) {
        names.push_back(command->get_name());
        if (names.back() == word) chosen = command;
      }
      if (chosen != nullptr) continue;
      const std::string near = nearest(word, names);
      return near.empty() ? "" : fmt::format("did you mean \"{}\"?", near);
    }
    if (chosen == nullptr || !word.starts_with("--")) continue;
    const std::string name = word.substr(0, word.find('='));
    std::vector<std::string> names;
    for (const Flag& flag : flags_of(*chosen)) names.push_back(flag.longest);
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    const std::string near = nearest(name, names);
    return near.empty() ? "" : fmt::format("did you mean \"{}\"?", near);
  }
  return "";
}

Command completion_command(CommandLine program) {
  CommandLine app = program.command("completion", "print a script that completes commands");
  auto shell = std::make_shared<std::string>();
  app.option("shell", *shell, "for which shell").one_of({"bash", "zsh", "fish"}).required();
  return {app, [shell, program] {
            std::fputs(completion(program.parser(), *shell).c_str(), stdout);
            return kOk;
          }};
}

Command manual_command(CommandLine program) {
  CommandLine app = program.command("man", "print the manual page, in roff");
  return {app, [program] {
            std::fputs(manual(program.parser()).c_str(), stdout);
            return kOk;
          }};
}

}  // namespace sdx::cli
