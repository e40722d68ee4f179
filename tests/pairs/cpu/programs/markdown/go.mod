module markdown

go 1.22
