/**
 * The scripts by shell. Each hands the words up to the cursor to `holdfast __complete`, which answers as src/cli/completion/completion.ts says.
 * What was typed, and what comes back, is never evaluated: names of contexts may hold anything.
 */
export const completionScripts = {
  // For bash 3.2 (macOS) too, and without the package bash-completion. Readline splits words at = and :, so that words are joined again first.
  bash: `# In ~/.bashrc: eval "$(holdfast completion bash)"
__holdfast_complete() {
  local rest="\${COMP_LINE:0:COMP_POINT}" word line index directive=4
  local -a words=()
  COMPREPLY=()
  for ((index = 0; index <= COMP_CWORD; index++)); do
    local spaces="\${rest%%[![:space:]]*}"
    word="\${COMP_WORDS[index]}"
    rest="\${rest#"$spaces"}"
    ((index == COMP_CWORD)) && word="$rest"
    if ((index > 0)) && [[ -z $spaces ]]; then
      words[\${#words[@]}-1]+="$word"
    else
      words+=("$word")
    fi
    rest="\${rest#"$word"}"
  done
  local typed="\${words[\${#words[@]}-1]}" flag='' breaks='' cut=''
  [[ $typed == --*=* ]] && flag="\${typed%%=*}="
  [[ $COMP_WORDBREAKS == *=* ]] && breaks+='='
  [[ $COMP_WORDBREAKS == *:* ]] && breaks+=':'
  [[ -n $breaks ]] && cut="\${typed%"\${typed##*[$breaks]}"}"
  words=("\${words[@]//[\\\\\\"\\']/}")
  while IFS= read -r line; do
    case "$line" in
      :0 | :4) directive="\${line#:}" ;;
      *)
        line="$flag\${line%%$'\\t'*}"
        line="\${line#"$cut"}"
        printf -v line %q "$line"
        COMPREPLY+=("$line")
        ;;
    esac
  done < <("\${words[0]/#\\~\\//$HOME/}" __complete "\${words[@]:1}" 2>/dev/null)
  if [[ $directive == 0 && \${#COMPREPLY[@]} -eq 0 ]]; then
    compopt -o default 2>/dev/null || while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -f -- "\${typed#"$cut"}")
  fi
}
complete -F __holdfast_complete holdfast
`,
  zsh: `#compdef holdfast
# A file _holdfast in a folder of $fpath, or in ~/.zshrc: eval "$(holdfast completion zsh)"
_holdfast() {
  local line directive=4
  local -a candidates typed
  typed=("\${(@Q)words[1,CURRENT-1]}" "\${(Q)PREFIX}")
  while IFS= read -r line; do
    case "$line" in
      :0|:4) directive="\${line#:}" ;;
      *$'\\t'*) candidates+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}") ;;
      *) candidates+=("\${line//:/\\\\:}") ;;
    esac
  done < <("\${typed[1]/#\\~\\//$HOME/}" __complete "\${(@)typed[2,-1]}" 2>/dev/null)
  [[ $PREFIX == --*=* ]] && compset -P '*='
  if (( $#candidates )); then
    _describe suggestion candidates
  elif [[ $directive == 0 ]]; then
    _files
  fi
}
if [[ "\${funcstack[1]}" == _holdfast ]]; then
  _holdfast "$@"
else
  compdef _holdfast holdfast
fi
`,
  fish: `# holdfast completion fish > ~/.config/fish/completions/holdfast.fish
function __holdfast_complete
    set -l words (commandline -opc)
    set -l typed (commandline -ct)
    set -l program (string replace -r '^~/' "$HOME/" -- $words[1])
    set -e words[1]
    set -l flag (string match -r -- '^--[^=]*=' "$typed")
    set -l lines (command $program __complete $words "$typed" 2>/dev/null)
    set -l directive $lines[-1]
    set -e lines[-1]
    for line in $lines
        echo -- "$flag$line"
    end
    if test "$directive" = :0 -a (count $lines) -eq 0
        for path in (__fish_complete_path (string replace -r -- '^--[^=]*=' '' "$typed"))
            echo -- "$flag$path"
        end
    end
end
complete -c holdfast -f -a '(__holdfast_complete)'
`,
} as const;
