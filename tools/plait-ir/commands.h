// The subcommands of plait-ir.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

// Adds every subcommand. What each is to do is in `chosen` once the command line is parsed.
void add_commands(CLI::App& app, std::function<void()>& chosen);
