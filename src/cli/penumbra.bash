# SPDX-License-Identifier: MIT
#
# Completion of penumbra(1) for bash. Subjects, faults and commands come from
# the program itself, so that this file need not know them.

_penumbra_names() {
  "${COMP_WORDS[0]}" "$1" --json 2>/dev/null |
    sed -n 's/^{"name":"\([^"]*\)".*/\1/p'
}

_penumbra() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
  local command=${COMP_WORDS[1]} options

  COMPREPLY=()
  # readline splits --option=value at the sign.
  if [[ $before == = && $COMP_CWORD -gt 2 ]]; then
    before=${COMP_WORDS[COMP_CWORD - 2]}
  elif [[ $word == = ]]; then
    word=
  fi
  if [[ $COMP_CWORD -eq 1 ]]; then
    options='run trace twin fuzz shrink asm dis gen subjects laws ops faults
      --help --version'
    COMPREPLY=($(compgen -W "$options" -- "$word"))
    return
  fi
  if [[ $command == twin && $before == @(-s|--subjects) ]]; then
    return
  fi
  case $before in
  -s | --subject)
    options=$(_penumbra_names subjects)
    [[ $command != run ]] || options+=' all'
    COMPREPLY=($(compgen -W "$options" -- "$word"))
    return
    ;;
  --fault)
    COMPREPLY=($(compgen -W "$(_penumbra_names faults)" -- "$word"))
    return
    ;;
  --artefacts)
    compopt -o filenames
    COMPREPLY=($(compgen -d -- "$word"))
    return
    ;;
  --timeout | --max-runs | --seed | --ops | --random | -j | --jobs)
    return
    ;;
  esac
  case $command in
  run)
    options='--subject --fault --known --json --text --timeout --stats --help'
    ;;
  trace) options='--subject --fault --json --text --timeout --verbose --help' ;;
  twin)
    options='--subjects --fault --random --seed --json --text --help'
    ;;
  fuzz)
    options='--subject --fault --known --jobs --artefacts --seed --no-seeds
      --help'
    ;;
  shrink)
    options='--subject --fault --signature --output --text --max-runs
      --timeout --help'
    ;;
  asm) options='--output --help' ;;
  dis) options='--text --help' ;;
  gen) options='--seed --ops --output --help' ;;
  subjects | laws | ops | faults) options='--json --help' ;;
  *) return ;;
  esac
  if [[ $word == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$word"))
    return
  fi
  case $command in
  run | trace | twin | shrink | asm | dis | gen)
    compopt -o filenames
    COMPREPLY=($(compgen -f -- "$word"))
    ;;
  esac
}

complete -F _penumbra penumbra
