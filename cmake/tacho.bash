# Completion for bash: source this file. The program itself knows its commands and options.
eval "$("$(dirname "${BASH_SOURCE[0]}")/../../../bin/tacho" completion bash)"
