package manifest

// Each type's keys, in the order in which they are written.

func (s *Server) fields(f *fields) {
	f.text("$schema", &s.Schema)
	required(f, "name", &s.Name)
	f.text("title", &s.Title)
	required(f, "description", &s.Description)
	required(f, "version", &s.Version)
	f.text("websiteUrl", &s.WebsiteURL)
	records(f, "icons", &s.Icons)
	optional(f, "repository", &s.Repository)
	records(f, "packages", &s.Packages)
	records(f, "remotes", &s.Remotes)
	f.free("_meta", &s.Meta)
	f.rest(&s.Extra)
}

func (i *Icon) fields(f *fields) {
	required(f, "src", &i.Src)
	f.text("mimeType", &i.MIMEType)
	f.texts("sizes", &i.Sizes)
	f.text("theme", &i.Theme)
	f.rest(&i.Extra)
}

func (r *Repository) fields(f *fields) {
	required(f, "url", &r.URL)
	required(f, "source", &r.Source)
	f.text("id", &r.ID)
	f.text("subfolder", &r.Subfolder)
	f.rest(&r.Extra)
}

func (p *Package) fields(f *fields) {
	required(f, "registryType", &p.RegistryType)
	f.text("registryBaseUrl", &p.RegistryBaseURL)
	required(f, "identifier", &p.Identifier)
	f.text("version", &p.Version)
	f.text("fileSha256", &p.FileSHA256)
	f.text("runtimeHint", &p.RuntimeHint)
	f.object("transport", &p.Transport)
	records(f, "runtimeArguments", &p.RuntimeArguments)
	records(f, "packageArguments", &p.PackageArguments)
	records(f, "environmentVariables", &p.EnvironmentVariables)
	f.rest(&p.Extra)
}

func (t *Transport) fields(f *fields) {
	required(f, "type", &t.Type)
	if t.Type != Stdio {
		required(f, "url", &t.URL)
		records(f, "headers", &t.Headers)
	}
	f.rest(&t.Extra)
}

func (r *Remote) fields(f *fields) {
	required(f, "type", &r.Type)
	required(f, "url", &r.URL)
	records(f, "headers", &r.Headers)
	f.variables(&r.Variables)
	f.rest(&r.Extra)
}

func (i *Input) fields(f *fields) {
	i.known(f)
	f.rest(&i.Extra)
}

func (i *Input) known(f *fields) {
	f.text("description", &i.Description)
	f.flag("isRequired", &i.IsRequired)
	f.text("format", &i.Format)
	f.text("value", &i.Value)
	f.flag("isSecret", &i.IsSecret)
	f.text("default", &i.Default)
	f.text("placeholder", &i.Placeholder)
	f.texts("choices", &i.Choices)
}

func (k *KeyValueInput) fields(f *fields) {
	required(f, "name", &k.Name)
	k.known(f)
	f.variables(&k.Variables)
	f.rest(&k.Extra)
}

func (a *Argument) fields(f *fields) {
	required(f, "type", &a.Type)
	switch a.Type {
	case NamedArgument:
		required(f, "name", &a.Name)
	case PositionalArgument:
		f.text("valueHint", &a.ValueHint)
	}
	f.flag("isRepeated", &a.IsRepeated)
	a.known(f)
	f.variables(&a.Variables)
	f.rest(&a.Extra)
}
