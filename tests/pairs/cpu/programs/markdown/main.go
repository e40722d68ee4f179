// Renders a large document with goldmark, as a static site does with each of its pages.
package main

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
)

func page(n int) []byte {
	var b strings.Builder
	for i := 0; i < 200; i++ {
		fmt.Fprintf(&b, "## Part %d of %d\n\nSome *words* with `code`, a [link](https://example.org/%d)\nand **more**.\n\n", i, n, i)
		b.WriteString("| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | ~~4~~ |\n\n- one\n- two\n  - three\n\n")
	}
	return []byte(b.String())
}

func main() {
	size := 0
	for n := 0; n < 250; n++ {
		markdown := goldmark.New(goldmark.WithExtensions(extension.GFM))
		var out bytes.Buffer
		if err := markdown.Convert(page(n), &out); err != nil {
			panic(err)
		}
		size += out.Len()
	}
	fmt.Println(size, "bytes")
}
