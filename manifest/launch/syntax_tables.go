package launch

// The options that launchers know, from npm help exec, npm help config, bunx --help, pnpm
// dlx --help, uvx --help, uv run --help, pipx run --help, docker run --help, podman-run(1),
// dotnet tool exec --help and cargo install --help. See type syntax for the form.

// npxSyntax is that of npx of npm 7 and later, which reads all settings of npm.
func npxSyntax() *syntax {
	return &syntax{options: npxOptions, danger: "runs other code or takes the package from elsewhere", anyDash: true, eager: true}
}

const npxOptions = `
-y --yes --no-install -q --quiet -s --silent -d --dd --ddd --verbose --loglevel= --offline --prefer-offline --prefer-online
--fund --audit --update-notifier --progress --color --unicode --timing --fetch-retries= --fetch-retry-factor=
--fetch-retry-maxtimeout= --fetch-retry-mintimeout= --fetch-timeout= --maxsockets= --logs-max= --include-attestations
--ignore-scripts --engine-strict
-p=@ --package=@ -c=$ --call=$
--registry=& --reg=& --https-proxy=! --proxy=! --noproxy=? --script-shell=! --shell=! --node-options=! --userconfig=!
--globalconfig=! --prefix=! -C=! --cafile=! --ca=! --cert=? --key=? --strict-ssl? --replace-registry-host=! --git=!
--node-gyp=! --allow-scripts=! --dangerously-allow-all-scripts! --strict-allow-scripts? --allow-directory=! --allow-file=!
--allow-git=! --allow-remote=! --cache=? --_auth=! --init-module=! --editor=? --viewer=? --workspace=? -w=? --workspaces?
--ws? --include-workspace-root? --iwr? --workspaces-update? --location=? -L=? --global? -g? --local? --no?
-n=% --node-arg=% --npm=% --always-spawn% --ignore-existing% --shell-auto-fallback% --version% -v% --versions% --help% -h%
-H% --usage% --dry-run?
--all? -a? --allow-same-version? --bin-links? --browser? --bypass-2fa? --commit-hooks? --description? --desc? --dev?
--diff-ignore-all-space? --diff-name-only? --diff-no-prefix? --diff-text? --expect-results? --force? -f?
--foreground-scripts? --format-package-lock? --git-tag-version? --global-style? --if-present? --include-staged?
--init-private? --install-links? --json? --legacy-bundling? --legacy-peer-deps? --link? --long? -l?
--omit-lockfile-registry-resolved? --optional? --package-lock? --package-lock-only? --parseable? --porcelain?
--allow-scripts-pending? --allow-scripts-pin? --prefer-dedupe? --production? --provenance? --read-only? --readonly?
--rebuild-bundle? --save? -S? --save-bundle? -B? --save-dev? -D? --save-exact? -E? --save-optional? -O? --save-peer?
--save-prod? -P? --packages-all? --shrinkwrap? --sign-git-commit? --sign-git-tag? --strict-peer-deps?
--access=? --also=? --audit-level=? --auth-type=? --before=? --enjoy-by=? --cache-max=? --cache-min=? --cidr=? --cpu=?
--depth=? --diff=? --diff-dst-prefix=? --diff-src-prefix=? --diff-unified=? --expect-result-count=? --expires=?
--heading=? --include=? --init-author-email=? --init-author-name=? --init-author-url=? --init-license=? --init-type=?
--init-version=? --install-strategy=? --libc=? --local-address=? --lockfile-version=? --logs-dir=? --message=? -m=?
--min-release-age=? --min-release-age-exclude=? --name=? --omit=? --only=? --orgs=? --os=? --otp=? --pack-destination=?
--packages=? --preid=? --provenance-file=? --save-prefix=? --sbom-format=? --sbom-type=? --scope=? --scopes=?
--password=? --searchexclude=? --searchlimit=? --searchopts=? --searchstaleness=? --tag=? --tag-version-prefix=?
--umask=? --user-agent=? --which=? --packages-and-scopes-permission=? --orgs-permission=? --token-description=?
--init.author.email=? --init.author.name=? --init.author.url=? --init.license=? --init.module=! --init.version=?
`

const bunOptions = `
--bun -b -y --yes --no-install --verbose --silent --ignore-scripts --minimum-release-age= -p=@ --package=@ --registry=& --cwd=?
--env-file=? --ca=! --cafile=! --trust! --version% --revision% --help% -h%
`

const pnpmOptions = `
--package=@ --reporter= --loglevel= --silent -s --color --allow-build=! --dir=? -C=? --registry=& --store-dir=? --cpu=?
--os=? --libc=? --use-node-version=? --prefer-offline --offline --shell-mode% -c% --help% -h% --version% -v% --recursive% -r%
--workspace-root? -w? --filter=% -F=%
`

const uvOptions = `
--from=@ --with=+ -w=+ --with-editable=! --with-requirements=! --constraints=? --constraint=? -c=? --build-constraints=?
--build-constraint=? -b=? --overrides=? --override=? --isolated --env-file=? --no-env-file --python-platform=? --torch-backend=?
--index=& --default-index=& --index-url=& -i=& --extra-index-url=& --find-links=& -f=& --no-index? --index-strategy=!
--keyring-provider=? --upgrade -U --upgrade-package= -P= --no-upgrade --resolution= --strategy= --prerelease= --pre
--fork-strategy= --config-setting=! --config-settings=! -C=! --config-settings-package=! --no-build-isolation!
--no-build-isolation-package=! --build-isolation --exclude-newer= --exclude-newer-package= --link-mode= --compile-bytecode
--compile --no-compile-bytecode --no-compile --no-sources --no-sources-package= --reinstall --force-reinstall
--reinstall-package= --no-build --no-build-package= --build --no-binary --no-binary-package= --binary --no-cache -n
--no-cache-dir --cache-dir=? --refresh --refresh-package= --no-refresh -p= --python= --managed-python --no-managed-python
--python-preference= --allow-python-downloads --no-python-downloads --python-fetch= --quiet -q --verbose -v --color=
--no-color --native-tls --no-native-tls --system-certs --offline --no-offline --allow-insecure-host=! --trusted-host=!
--no-progress --directory=? --project=? --config-file=! --no-config --preview --no-preview --preview-features= --lfs
--show-resolution --help% -h% --version% -V% --generate-shell-completion=%
`

// uvRunOptions are those of uv run, which precede uvOptions.
const uvRunOptions = `
--with=* -w=* --module? -m? --script% -s% --gui-script% --package=% --extra=? --all-extras? --no-extra=? --group=? --no-group=?
--only-group=? --all-groups? --dev? --no-dev --only-dev? --no-default-groups --no-editable --inexact --exact --no-project
--locked --frozen --no-sync --active? --all-packages? --from=%
`

const pipxOptions = `
--spec=@ --with=+ --no-cache --python= --fetch-missing-python --system-site-packages? --index-url=& -i=& --pip-args=!
--verbose -v --quiet -q --backend=? --path% --pypackages% --editable% -e% --help% -h% --version%
`

const dockerOptions = `
-i --interactive -t --tty --rm --init --name= -h= --hostname= -l= --label= --label-file=? --annotation= --pull= --platform=
-q --quiet --read-only -m= --memory= --memory-reservation= --memory-swap= --memory-swappiness= --cpus= -c= --cpu-shares=
--cpu-count= --cpu-percent= --cpu-period= --cpu-quota= --cpu-rt-period= --cpu-rt-runtime= --cpuset-cpus= --cpuset-mems=
--pids-limit= --cap-drop= --tmpfs= --shm-size= --stop-signal= --stop-timeout= -w= --workdir= --sig-proxy -a= --attach=
--no-healthcheck --health-cmd= --health-interval= --health-retries= --health-start-interval= --health-start-period=
--health-timeout= --expose= --blkio-weight= --blkio-weight-device= --device-read-bps= --device-read-iops=
--device-write-bps= --device-write-iops= --io-maxbandwidth= --io-maxiops= --kernel-memory= --detach-keys= --domainname=
--mac-address= --network-alias= --net-alias= --ip= --ip6= --link-local-ip= --log-driver=? --log-opt=? --isolation=?
-e=^ --env=^ --env-file=? -p=~ --publish=~ -P? --publish-all? -v=/ --volume=/ --mount=/ --volumes-from=? --volume-driver=?
--network=| --net=| --pid=| --ipc=| --uts=| --userns=| --cgroupns=|
--privileged! --cap-add=! --device=! --device-cgroup-rule=! --gpus=! --security-opt=! --use-api-socket! --runtime=!
--cgroup-parent=! --sysctl=? --ulimit=? --oom-kill-disable? --oom-score-adj=? --group-add=? -u= --user= --add-host=?
--dns=? --dns-opt=? --dns-option=? --dns-search=? --link=? --entrypoint=? --disable-content-trust? --storage-opt=?
--restart=? -d? --detach? --cidfile=? --help%
`

// podmanOptions follow dockerOptions.
const podmanOptions = `
--arch= --os= --variant= --timeout= --tz= --umask= --unsetenv= --unsetenv-all --no-hosts --no-hostname --passwd --passwd-entry=?
--pidfile=? --personality=? --read-only-tmpfs --replace? --requires=? --retry= --retry-delay= --rmi --rdt-class=?
--health-on-failure= --health-log-destination=? --health-max-log-count= --health-max-log-size= --health-startup-cmd=
--health-startup-interval= --health-startup-retries= --health-startup-success= --health-startup-timeout= --image-volume=
--sdnotify= --shm-size-systemd= --systemd=? --env-merge=? --env-host! --http-proxy? --cgroups=? --cgroup-conf=! --conmon-pidfile=?
--chrootdirs=? --authfile=? --cert-dir=? --creds=? --decryption-key=? --tls-verify? --gidmap=? --uidmap=? --subgidname=?
--subuidname=? --group-entry=? --hostuser=? --hosts-file=? --init-path=! --hooks-dir=! --pod=? --pod-id-file=? --preserve-fd=?
--preserve-fds=? --seccomp-policy=? --secret=? --rootfs%
`

const dotnetOptions = `
-y --yes --version=# --prerelease --allow-roll-forward -v= --verbosity= --interactive --no-http-cache --disable-parallel
--ignore-failed-sources --framework= -a= --arch= --source=& --add-source=& --configfile=! --help% -h% --diagnostics -d
`

const cargoOptions = `
--version=# --vers=# --locked --force -f --root=? --no-track --bin= --bins --example=? --examples? --debug --profile= --target=
--target-dir=? --features= -F= --all-features --no-default-features --jobs= -j= --keep-going --offline --frozen --quiet -q
--verbose -v --color= --message-format= --timings --ignore-rust-version --index=& --registry=? --config=! -Z=!
--git=% --branch=% --tag=% --rev=% --path=% --list% --dry-run% -n% --help% -h%
`
