# complete.zsh SCRIPT LINE...: what each line becomes when Tab is pressed at its end, in a shell of its own on a
# pseudo-terminal that has read the completion script.
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "PS1= PS2=; autoload -U compinit; compinit -D -u; source $1; accept() { print -r -- \"<<\$BUFFER>>\"; BUFFER=; zle -I }; zle -N accept; bindkey '^X' accept; print ready"
zpty -r -m shell output '*ready*ready*'
shift
for line; do
    zpty -w -n shell "$line"$'\t\x18'
    zpty -r -m shell output '*<<*>>*'
    output=${output##*<<}
    print -r -- "${${output%%>>*}%% }"
done
zpty -d shell
