package sanitize_test

import (
	"fmt"

	"github.com/ashlar-go/ashlar/httpx/sanitize"
)

func Example() {
	policy := sanitize.New(nil)
	for _, text := range []string{"AT&T", "O'Brien", "1 < 2", "<b>bold</b>", "<script>alert(1)</script>"} {
		fmt.Println(policy.Clean(text), text)
	}
	// Output:
	// true AT&T
	// true O'Brien
	// true 1 < 2
	// false <b>bold</b>
	// false <script>alert(1)</script>
}
