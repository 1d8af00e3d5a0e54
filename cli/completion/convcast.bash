# bash completion of convcast; made by: convcast list --completion bash
_convcast() {
    local word=${COMP_WORDS[COMP_CWORD]} line kind="" found
    COMPREPLY=()
    while IFS= read -r line; do
        case $line in
        :files) kind=-f ;;
        :folders) kind=-d ;;
        *) COMPREPLY+=("${line%%$'\t'*}") ;;
        esac
    done < <("${COMP_WORDS[0]}" __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2> /dev/null)
    if [[ -n $kind ]]; then
        if [[ $word == "=" ]]; then word=""; fi # --gpu= and nothing yet
        mapfile -t found < <(compgen "$kind" -- "$word")
        COMPREPLY+=("${found[@]}")
        compopt -o filenames 2> /dev/null
    fi
}
complete -F _convcast convcast
