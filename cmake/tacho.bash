# Completion for bash, found here by bash-completion, or to be sourced. The program itself knows its commands and options.
eval "$("$(dirname "${BASH_SOURCE[0]}")/../../../bin/tacho" completion bash)"
