// The subcommands of plait-ir.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

// Adds all subcommands. After the command line is parsed, `chosen` runs the selected one.
void add_commands(CLI::App& app, std::function<void()>& chosen);
