package launch

import (
	"cmp"
	"strings"

	"github.com/ashlar-go/ashlar/internal/grammar"
)

// Only variables that nothing but the server reads need no notice: those with a name of
// several parts whose first part belongs to no loader, shell, interpreter or launcher, and
// the single words of plainWords. The namespaces are the first parts of names, and those
// with a * the beginnings of them. They are facts from the public documentation of the
// programs.
const (
	// everyNamespaces affect all programs, or those that run containers.
	everyNamespaces = "LD DYLD DOCKER BUILDKIT BUILDX CONTAINER CONTAINERS PODMAN XDG BASH GCONV GLIBC GODEBUG DBUS"
	everyWords      = `PATH HOME SHELL IFS ENV TMPDIR HTTP_PROXY HTTPS_PROXY ALL_PROXY FTP_PROXY PROMPT_COMMAND ZDOTDIR COMSPEC PATHEXT
		PSMODULEPATH SYSTEMROOT WINDIR USERPROFILE APPDATA LOCALAPPDATA PROGRAMFILES PROGRAMDATA SSH_AUTH_SOCK SSH_ASKPASS
		REGISTRY_AUTH_FILE SSL_CERT_FILE SSL_CERT_DIR HOSTALIASES LOCPATH RES_OPTIONS`
	// runtimeNamespaces affect launchers and interpreters.
	runtimeNamespaces = `NPM NPX NODE PNPM YARN COREPACK BUN DENO NVM VOLTA FNM UV UVX PIP PIPX PIPENV PYTHON* PYENV VIRTUAL CONDA POETRY
		HATCH DOTNET NUGET MSBUILD* COMPLUS CORECLR COR CARGO RUST* GIT OPENSSL ELECTRON JAVA JDK _JAVA MAVEN GRADLE PERL*
		RUBY* GEM BUNDLE LUA PHP MALLOC LC`
	runtimeWords = "REQUESTS_CA_BUNDLE CURL_CA_BUNDLE CLASSPATH NO_PROXY EDITOR PAGER BROWSER"
	// injections are those of them that make a program load other code, or take packages
	// from elsewhere.
	injections = `NODE_OPTIONS NODE_PATH PYTHONPATH PYTHONHOME PYTHONSTARTUP PYTHONINSPECT PYTHONBREAKPOINT PERL5OPT PERL5LIB RUBYOPT RUBYLIB
		JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS CLASSPATH DOTNET_STARTUP_HOOKS DOTNET_ADDITIONAL_DEPS CORECLR_PROFILER
		CORECLR_PROFILER_PATH COR_PROFILER RUSTC_WRAPPER RUSTC RUSTFLAGS GIT_SSH_COMMAND GIT_SSH GIT_ASKPASS GIT_EXEC_PATH
		OPENSSL_CONF ELECTRON_RUN_AS_NODE`
	injectionNamespaces = "NPM_CONFIG_* UV_* PIP_* PIPX_* BUN_* PNPM_* YARN_* CARGO_* NUGET_* COREPACK_*"
	// plainVariables are harmless although their namespace is not.
	plainVariables = `NODE_ENV NODE_NO_WARNINGS PYTHONUNBUFFERED PYTHONIOENCODING PYTHONUTF8 PYTHONDONTWRITEBYTECODE PYTHONWARNINGS
		DOTNET_NOLOGO DOTNET_ENVIRONMENT DOTNET_SKIP_FIRST_TIME_EXPERIENCE DOTNET_CLI_TELEMETRY_OPTOUT RUST_LOG RUST_BACKTRACE
		GIT_TOKEN NPM_TOKEN JAVA_HOME LC_ALL LC_CTYPE`
	plainWords = `PORT HOST HOSTNAME TOKEN KEY SECRET PASSWORD USERNAME APIKEY ACCESSTOKEN DOMAIN URL URI ENDPOINT BASEURL DATABASE REGION
		TIMEOUT TOOLS TOOLSETS TRANSPORT READONLY DEBUG VERBOSE LOGLEVEL HEADLESS WORKSPACE PROJECT MODEL MODE TZ LANG LANGUAGE
		TERM COLUMNS LINES TELEMETRY ORGANIZATION TENANT ACCOUNT EMAIL`
)

// influence returns how much else than the server reads an environment variable: "" if
// nothing is known to.
func influence(name string) Severity {
	upper := strings.ToUpper(name)
	switch {
	case among(upper, plainVariables) || strings.Contains(name, "-"):
		return ""
	case affectsEveryProgram(name), among(upper, injections), among(upper, injectionNamespaces):
		return SeverityDanger
	case inNamespace(upper, runtimeNamespaces), among(upper, runtimeWords):
		return SeverityWarning
	case !strings.Contains(name, "_") && !among(upper, plainWords) || !grammar.Only(name, "_"):
		return SeverityInfo
	}
	return ""
}

// affectsEveryProgram reports whether a variable affects all programs, or those that run
// containers.
func affectsEveryProgram(name string) bool {
	upper := strings.ToUpper(name)
	return inNamespace(upper, everyNamespaces) || among(upper, everyWords)
}

// inNamespace reports whether the first part of a name is one of a list.
func inNamespace(name, list string) bool {
	part, _, _ := strings.Cut(strings.TrimPrefix(name, "_"), "_")
	part = cmp.Or(part, name)
	if name[0] == '_' {
		return among("_"+part, list)
	}
	return among(part, list)
}

// among reports whether a name is in a list, where * stands for any ending.
func among(name, list string) bool {
	for entry := range strings.FieldsSeq(list) {
		beginning, open := strings.CutSuffix(entry, "*")
		if name == entry || open && strings.HasPrefix(name, beginning) {
			return true
		}
	}
	return false
}
