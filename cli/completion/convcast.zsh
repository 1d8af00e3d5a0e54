#compdef convcast
# zsh completion of convcast; made by: convcast list --completion zsh
_convcast() {
    local line kind=""
    local -a found
    for line in "${(@f)$("$words[1]" __complete "${(@)words[2,CURRENT]}" 2> /dev/null)}"; do
        case $line in
        :files|:folders) kind=$line ;;
        ?*) found+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}") ;;
        esac
    done
    if (( $#found )); then _describe convcast found; fi
    if [[ $kind == :files ]]; then _files; fi
    if [[ $kind == :folders ]]; then _files -/; fi
}
if [[ $funcstack[1] == _convcast ]]; then _convcast "$@"; else compdef _convcast convcast; fi
