# Names in a report come from anybody. The page shows them as text: nothing in it parses markup or runs text as a program.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

ways='\.(inner|outer)HTML|insertAdjacentHTML|document\.write|createContextualFragment|DOMParser|srcdoc|setHTML|parseHTML'
ways="$ways|[^a-zA-Z_.]eval\(|new Function|javascript:|set(Timeout|Interval)\([\"'\`]|setAttribute\([\"'\`](on|style)"

printf '%s\n' 'a.innerHTML = b;' ' eval(text)' 'node.setAttribute("onclick", x)' | grep -cE "$ways" | grep -qx 3 || complain "the check itself is broken"
[ -n "$(find "$SOURCE/web/src" -name '*.ts' -print -quit)" ] || complain "there is no page to look at"
while IFS= read -r line; do
    complain "${line#"$SOURCE/"}"
done < <(grep -rnE "$ways" "$SOURCE/web/src" "$SOURCE/web/index.html")
grep -nE '[[:space:]](on[a-z]+|style)=' "$SOURCE/web/index.html" && complain "index.html has a handler or a style that the page's policy forbids"
exit $bad
