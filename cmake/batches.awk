# awk -v most=N -f cmake/batches.awk FILE.c…: prints the number of a batch for each file, a line each, such that the files of a batch
# can be compiled as one: no file has a name that another one defines for itself (a macro, an enumerator, a tag, a static function or
# variable). For unity builds, which compile in a third of the time, since each header is read once a batch.
function define(name) {
    if (name !~ /^[A-Za-z_][A-Za-z0-9_]*$/ || name ~ /^(static|const|int|char|struct|enum|union|unsigned|void|long|double|sizeof)$/)
        return
    if (!((FILENAME, name) in is_own)) {
        is_own[FILENAME, name] = 1
        own[FILENAME] = own[FILENAME] " " name
    }
}
function words(text, add_to,    parts, count, i) {
    count = split(text, parts, /[^A-Za-z0-9_]+/)
    for (i = 1; i <= count; i++)
        if (parts[i] ~ /^[A-Za-z_]/)
            has[FILENAME, parts[i]] = 1
}
FNR == 1 { files[++file_count] = FILENAME; in_comment = in_enum = depth = 0 }
{
    line = $0
    if (in_comment) {
        if (!(at = index(line, "*/")))
            next
        line = substr(line, at + 2)
        in_comment = 0
    }
    gsub(/"([^"\\]|\\.)*"/, "\"\"", line)
    gsub(/\/\*([^*]|\*[^\/])*\*\//, " ", line)
    sub(/\/\/.*/, "", line)
    if ((at = index(line, "/*"))) {
        line = substr(line, 1, at - 1)
        in_comment = 1
    }
    if (line ~ /^#[ \t]*include/)
        next
    words(line)
}
line ~ /^#[ \t]*define/ { name = line; sub(/^#[ \t]*define[ \t]+/, "", name); sub(/[^A-Za-z0-9_].*/, "", name); define(name); next }
line ~ /^#/ { next }
line ~ /^(static |typedef )?enum( [a-z0-9_]+)? \{/ { in_enum = 1; items = line; sub(/^[^{]*\{/, "", items) }
in_enum {
    if (line !~ /^(static |typedef )?enum/)
        items = line
    if (items ~ /\}/) {
        sub(/\}.*/, "", items)
        in_enum = 0
    }
    count = split(items, item, ",")
    for (i = 1; i <= count; i++) {
        name = item[i]
        gsub(/^[ \t]+/, "", name)
        sub(/[^A-Za-z0-9_].*/, "", name)
        define(name)
    }
}
line ~ /^(struct|union|enum) [a-z0-9_]+ \{/ { split(line, item, " "); define(item[2]) }
line ~ /^[A-Z_]+\(/ { # a macro that defines what it is given
    name = line
    sub(/^[A-Z_]+\(/, "", name)
    count = split(name, item, /[^A-Za-z0-9_]+/)
    for (i = 1; i <= count; i++)
        define(item[i])
}
line ~ /^(static|_Thread_local|_Atomic) / {
    name = line
    sub(/[[(=;].*/, "", name) # up to its parameters or its value
    if (line !~ /^[^=(]*\(/ && line ~ /,/) { # several variables
        name = line
        gsub(/=[^,;]*/, "", name)
        gsub(/\[[^]]*\]/, "", name)
    }
    count = split(name, item, ",")
    for (i = 1; i <= count; i++) {
        name = item[i]
        gsub(/[ \t;]+$/, "", name)
        sub(/.*[^A-Za-z0-9_]/, "", name)
        define(name)
    }
}
END {
    for (f = 1; f <= file_count; f++) {
        file = files[f]
        count = split(own[file], mine, " ")
        for (batch = 1; ; batch++) {
            if (size[batch] >= most)
                continue
            is_free = 1
            for (m = 1; m <= size[batch] && is_free; m++) {
                other = members[batch, m]
                for (i = 1; i <= count && is_free; i++)
                    is_free = !((other, mine[i]) in has)
                others = split(own[other], theirs, " ")
                for (i = 1; i <= others && is_free; i++)
                    is_free = !((file, theirs[i]) in has)
            }
            if (is_free)
                break
        }
        members[batch, ++size[batch]] = file
        print batch
    }
}
