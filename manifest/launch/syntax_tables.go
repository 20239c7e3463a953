package launch

import _ "embed" // the options

// The options that launchers know, from npm help exec, npm help config, bunx --help, pnpm
// dlx --help, uvx --help, uv run --help, pipx run --help, docker run --help, podman-run(1),
// dotnet tool exec --help and cargo install --help. See type syntax for the form. Those of uv run
// precede those of uv, and those of podman follow those of docker.
var (
	//go:embed options/npx.txt
	npxOptions string
	//go:embed options/bun.txt
	bunOptions string
	//go:embed options/pnpm.txt
	pnpmOptions string
	//go:embed options/uv.txt
	uvOptions string
	//go:embed options/uv-run.txt
	uvRunOptions string
	//go:embed options/pipx.txt
	pipxOptions string
	//go:embed options/dotnet.txt
	dotnetOptions string
	//go:embed options/cargo.txt
	cargoOptions string
)
