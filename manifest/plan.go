package manifest

// Plan is how a package is started for one user: what to fetch, what to run with
// which environment, and how to talk to it. Nothing in it goes through a shell:
// give [Plan.Argv] and [Plan.Env] to os/exec as they are.
//
// A plan prints and encodes without its secrets.
type Plan struct {
	// Files have to be fetched and verified before anything is run.
	Files []File `json:"files,omitempty"`
	// Setup are commands to run once, each to its end, before Command.
	Setup []Command `json:"setup,omitempty"`
	// Command is the server. It is empty for a bundle, whose own manifest says how it
	// is started, and which takes Arguments.
	Command Command `json:"command,omitempty"`
	// Arguments are those of the package alone, which end Command too.
	Arguments []Item `json:"arguments,omitempty"`
	// Environment is set for Command in addition to what the process inherits, in
	// the order of the document. No name is there twice.
	Environment []Setting `json:"environment,omitempty"`
	// Paths are the inputs of format filepath: what the server is pointed at.
	Paths []Setting `json:"paths,omitempty"`
	// Transport is how to talk to Command; URL and Headers are for all but Stdio.
	Transport TransportType `json:"transport"`
	URL       *Item         `json:"url,omitempty"`
	Headers   []Setting     `json:"headers,omitempty"`
	// Notices are what a person should know before they agree.
	Notices []Notice `json:"notices,omitempty"`
}

// Command is a program and its arguments, each an argument of its own.
type Command []Item

// Item is one text of a plan and where it comes from.
type Item struct {
	Value Value `json:"value"`
	// Origin is the JSON pointer of the value in the manifest that it comes from, ""
	// for what the launcher adds.
	Origin string `json:"origin,omitempty"`
}

// Setting is an environment variable or a header.
type Setting struct {
	Name   string `json:"name"`
	Value  Value  `json:"value"`
	Origin string `json:"origin,omitempty"` // as in Item
}

// File is a file that a plan needs.
type File struct {
	URL string `json:"url"`
	// SHA256 is 64 lowercase hexadecimal characters. A file that has another one
	// must not be used. Package manifest/fetch sees to that.
	SHA256 string `json:"sha256"`
	Origin string `json:"origin,omitempty"` // as in Item
}

// Notice is something about a plan that is allowed and worth knowing.
type Notice struct {
	Pointer string `json:"pointer"` // of the value that it is about
	Message string `json:"message"` // one line, without secrets
}

// Endpoint is how a remote is reached by one user. It prints and encodes without
// its secrets.
type Endpoint struct {
	Type    TransportType `json:"type"`
	URL     Item          `json:"url"`
	Headers []Setting     `json:"headers,omitempty"`
	Notices []Notice      `json:"notices,omitempty"`
}

// Argv is the program and its arguments with secrets, as os/exec takes them.
func (c Command) Argv() []string {
	argv := make([]string, len(c))
	for i := range c {
		argv[i] = c[i].Value.Reveal()
	}
	return argv
}

// Argv is the server's command with secrets, empty for a bundle.
func (p *Plan) Argv() []string { return p.Command.Argv() }

// Env is the environment with secrets as NAME=value, to be appended to what the
// process inherits.
func (p *Plan) Env() []string {
	env := make([]string, len(p.Environment))
	for i, s := range p.Environment {
		env[i] = s.Name + "=" + s.Value.Reveal()
	}
	return env
}
