/*
 * The list has variables that programs were found to need and that contain no secrets: those that
 * build systems with hidden environments pass on by default, and those that their users had to add.
 * A name is listed if it is known which program uses it; a prefix, only if no variable that begins
 * with it contains a secret.
 */
#define _GNU_SOURCE
#include "workspace/sandbox_environment.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/list.h"
#include "base/memory.h"
#include "base/text.h"
#include "io/file.h"
#include "storage/call_marks.h"

#define HINTED "told-variables" /* file in the run directory, made when the hint was printed */

enum { NAMES_TOLD = 3 };

static const char *const listed[] = {
	/* user, places, shell */
	"PATH", "HOME", "USER", "LOGNAME", "USERNAME", "SHELL", "PWD", "OLDPWD", "SHLVL", "_", "TMPDIR",
	"TMP", "TEMP", "HOSTNAME", "HOSTTYPE", "OSTYPE", "MACHTYPE", "POSIXLY_CORRECT",
	"MANPATH", "INFOPATH", "XDG_DATA_DIRS", "XDG_CONFIG_DIRS",
	/* language and time */
	"LANG", "LANGUAGE", "LC_ALL", "LC_ADDRESS", "LC_COLLATE", "LC_CTYPE", "LC_IDENTIFICATION",
	"LC_MEASUREMENT", "LC_MESSAGES", "LC_MONETARY", "LC_NAME", "LC_NUMERIC", "LC_PAPER",
	"LC_TELEPHONE", "LC_TIME", "TZ", "TZDIR", "LOCPATH", "NLSPATH", "LOCALE_ARCHIVE", "GUIX_LOCPATH",
	"TEXTDOMAIN", "TEXTDOMAINDIR", "SOURCE_DATE_EPOCH", "FAKETIME",
	/* terminals and colours */
	"TERM", "TERMINFO", "TERMINFO_DIRS", "COLORTERM", "COLORFGBG", "COLUMNS", "LINES", "NO_COLOR",
	"CLICOLOR", "CLICOLOR_FORCE", "FORCE_COLOR", "LS_COLORS", "GREP_COLORS", "GCC_COLORS", "PAGER",
	"GIT_PAGER", "MANPAGER", "LESS", "LESSCHARSET", "EDITOR", "VISUAL", "GIT_EDITOR",
	/* the loader and the C library */
	"LD_LIBRARY_PATH", "LD_PRELOAD", "LD_RUN_PATH", "LD_BIND_NOW", "LD_DEBUG", "GLIBC_TUNABLES",
	"MALLOC_ARENA_MAX", "MALLOC_CHECK_", "MALLOC_PERTURB_", "MALLOC_CONF", "GCONV_PATH", "RES_OPTIONS",
	"LOCALDOMAIN", "HOSTALIASES",
	"ASAN_OPTIONS", "LSAN_OPTIONS", "MSAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS",
	"ASAN_SYMBOLIZER_PATH", "LLVM_PROFILE_FILE", "GCOV_PREFIX", "GCOV_PREFIX_STRIP", "VALGRIND_LIB",
	/* trusted certificates, and proxies */
	"SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS",
	"GIT_SSL_CAINFO", "GIT_SSL_CAPATH", "PIP_CERT", "AWS_CA_BUNDLE", "CARGO_HTTP_CAINFO",
	"NIX_SSL_CERT_FILE", "DENO_CERT", "DENO_TLS_CA_STORE", "UV_NATIVE_TLS", "UV_SYSTEM_CERTS",
	"HTTPLIB2_CA_CERTS", "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH",
	"CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE", "PERL_LWP_SSL_CA_FILE", "OPENSSL_CONF", "OPENSSL_MODULES",
	"http_proxy", "https_proxy", "ftp_proxy", "all_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY",
	"FTP_PROXY", "ALL_PROXY", "NO_PROXY",
	/* signs of a CI or build system */
	"CI", "CONTINUOUS_INTEGRATION", "GITHUB_ACTIONS", "GITLAB_CI", "DEBIAN_FRONTEND",
	"TRACEPARENT", "TRACESTATE",
	/* C and its like, make, configure, CMake */
	"CC", "CXX", "CPP", "FC", "F77", "AR", "AS", "LD", "NM", "RANLIB", "STRIP", "OBJCOPY", "OBJDUMP",
	"READELF", "WINDRES", "LEX", "YACC", "M4", "AWK", "SED", "GREP", "PERL", "PYTHON", "RUBY", "MAKE",
	"CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "LDLIBS", "LIBS", "ASFLAGS", "ARFLAGS", "FFLAGS",
	"FCFLAGS", "OBJCFLAGS", "YFLAGS", "LFLAGS", "CC_FOR_BUILD", "HOSTCC", "HOSTCXX", "BUILD_CC",
	"CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "OBJC_INCLUDE_PATH", "LIBRARY_PATH",
	"COMPILER_PATH", "GCC_EXEC_PREFIX", "MAKEFLAGS", "MFLAGS", "GNUMAKEFLAGS", "MAKELEVEL", "MAKEFILES",
	"MAKE_TERMOUT", "MAKE_TERMERR", "DESTDIR", "PREFIX", "ARCH", "CROSS_COMPILE", "VERBOSE",
	"PKG_CONFIG", "PKG_CONFIG_PATH", "PKG_CONFIG_LIBDIR", "PKG_CONFIG_SYSROOT_DIR",
	"PKG_CONFIG_ALLOW_SYSTEM_CFLAGS", "PKG_CONFIG_ALLOW_SYSTEM_LIBS", "ACLOCAL_PATH", "CONFIG_SHELL",
	"CONFIG_SITE", "CMAKE_PREFIX_PATH", "CMAKE_GENERATOR", "CMAKE_BUILD_TYPE",
	"CMAKE_BUILD_PARALLEL_LEVEL", "CMAKE_TOOLCHAIN_FILE", "CMAKE_C_COMPILER_LAUNCHER",
	"CMAKE_CXX_COMPILER_LAUNCHER", "CMAKE_EXPORT_COMPILE_COMMANDS", "CMAKE_INSTALL_PREFIX",
	"CMAKE_MODULE_PATH", "CTEST_OUTPUT_ON_FAILURE", "CTEST_PARALLEL_LEVEL", "NINJA_STATUS",
	"NINJAFLAGS", "MESON_TESTTHREADS", "CCACHE_DIR", "CCACHE_DISABLE", "CCACHE_BASEDIR",
	"CCACHE_CONFIGPATH", "CCACHE_COMPILERCHECK", "CCACHE_NOHASHDIR", "CCACHE_READONLY",
	"CCACHE_SLOPPINESS", "CCACHE_TEMPDIR", "SCCACHE_DIR", "DISTCC_HOSTS",
	/* git; not variables that can contain a header or a command */
	"GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_AUTHOR_DATE", "GIT_COMMITTER_NAME",
	"GIT_COMMITTER_EMAIL", "GIT_COMMITTER_DATE", "EMAIL", "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE",
	"GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR", "GIT_PREFIX", "GIT_CEILING_DIRECTORIES",
	"GIT_DISCOVERY_ACROSS_FILESYSTEM", "GIT_TERMINAL_PROMPT", "GIT_OPTIONAL_LOCKS",
	"GIT_CONFIG_NOSYSTEM", "GIT_EXEC_PATH", "GIT_TEMPLATE_DIR",
	/* Python */
	"PYTHONPATH", "PYTHONHOME", "PYTHONUSERBASE", "PYTHONNOUSERSITE", "PYTHONHASHSEED",
	"PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX", "PYTHONIOENCODING",
	"PYTHONUTF8", "PYTHONWARNINGS", "PYTHONOPTIMIZE", "PYTHONFAULTHANDLER", "PYTHONSAFEPATH",
	"PYTHONDEVMODE", "PYTHONMALLOC", "PYTHONTRACEMALLOC", "PYTHONASYNCIODEBUG", "PYTHONBREAKPOINT",
	"PYTHONCOERCECLOCALE", "PYTHONINTMAXSTRDIGITS", "PYTHONSTARTUP", "PYTHONPLATLIBDIR", "PYTHON_GIL",
	"PYTHON_COLORS", "VIRTUAL_ENV", "VIRTUAL_ENV_PROMPT", "CONDA_PREFIX", "CONDA_DEFAULT_ENV",
	"CONDA_EXE", "CONDA_PYTHON_EXE", "CONDA_SHLVL", "CONDA_PROMPT_MODIFIER", "CONDA_PREFIX_1",
	"MAMBA_EXE", "MAMBA_ROOT_PREFIX", "PYENV_ROOT", "PYENV_VERSION", "PYENV_SHELL", "PIPX_HOME",
	"PIPX_BIN_DIR", "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_NO_INDEX",
	"PIP_CACHE_DIR", "PIP_NO_CACHE_DIR", "PIP_TRUSTED_HOST", "PIP_CONFIG_FILE", "PIP_CONSTRAINT",
	"PIP_REQUIREMENT", "PIP_REQUIRE_VIRTUALENV", "PIP_DISABLE_PIP_VERSION_CHECK", "PIP_NO_INPUT",
	"PIP_BREAK_SYSTEM_PACKAGES", "PIP_PREFER_BINARY", "PIP_ROOT_USER_ACTION", "PIP_USER", "PIP_TARGET",
	"PIP_PREFIX", "PIP_TIMEOUT", "PIP_DEFAULT_TIMEOUT", "PIP_RETRIES", "PIP_NO_BUILD_ISOLATION", "PIPENV_VENV_IN_PROJECT",
	"PIPENV_PIPFILE", "PIPENV_ACTIVE", "WORKON_HOME", "POETRY_HOME", "POETRY_CACHE_DIR",
	"POETRY_VIRTUALENVS_IN_PROJECT", "POETRY_VIRTUALENVS_CREATE", "POETRY_VIRTUALENVS_PATH",
	"POETRY_ACTIVE", "UV_CACHE_DIR", "UV_OFFLINE", "UV_PYTHON", "UV_PYTHON_INSTALL_DIR",
	"UV_PYTHON_DOWNLOADS", "UV_PYTHON_PREFERENCE", "UV_PROJECT_ENVIRONMENT", "UV_TOOL_DIR",
	"UV_TOOL_BIN_DIR", "UV_LINK_MODE", "UV_INDEX_URL", "UV_DEFAULT_INDEX", "UV_INDEX",
	"UV_EXTRA_INDEX_URL", "UV_NO_CACHE", "UV_FROZEN", "UV_LOCKED", "UV_SYSTEM_PYTHON",
	"UV_NO_SYNC", "UV_COMPILE_BYTECODE", "TOX_WORK_DIR", "TOX_ENV_NAME", "TOX_ENV_DIR",
	"PYTEST_ADDOPTS", "PYTEST_DISABLE_PLUGIN_AUTOLOAD", "PYTEST_CURRENT_TEST",
	"PYTEST_XDIST_WORKER", "PYTEST_XDIST_WORKER_COUNT", "COVERAGE_FILE", "COVERAGE_PROCESS_START",
	"COVERAGE_RCFILE", "MYPYPATH", "MYPY_CACHE_DIR", "RUFF_CACHE_DIR", "SETUPTOOLS_USE_DISTUTILS",
	"SETUPTOOLS_SCM_PRETEND_VERSION", "CYTHON_CACHE_DIR", "NUMBA_CACHE_DIR", "MPLBACKEND",
	"MPLCONFIGDIR", "JUPYTER_PATH", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "IPYTHONDIR",
	/* JavaScript */
	"NODE_PATH", "NODE_ENV", "NODE_OPTIONS", "NODE_DEBUG", "NODE_NO_WARNINGS", "NODE_PENDING_DEPRECATION",
	"NODE_DISABLE_COLORS", "NODE_USE_SYSTEM_CA", "NODE_USE_ENV_PROXY", "NODE_COMPILE_CACHE",
	"NODE_REPL_HISTORY", "NODE_V8_COVERAGE", "NODE_ICU_DATA", "NODE_VERSION", "NVM_DIR", "NVM_BIN",
	"NVM_INC", "NVM_CD_FLAGS", "FNM_DIR", "FNM_MULTISHELL_PATH", "FNM_VERSION_FILE_STRATEGY",
	"N_PREFIX", "NODENV_ROOT", "NODENV_VERSION", "VOLTA_HOME", "COREPACK_HOME",
	"COREPACK_ENABLE_STRICT", "COREPACK_ENABLE_NETWORK", "COREPACK_ENABLE_DOWNLOAD_PROMPT",
	"COREPACK_ENABLE_AUTO_PIN", "COREPACK_ENABLE_PROJECT_SPEC", "COREPACK_DEFAULT_TO_LATEST",
	"PNPM_HOME", "YARN_CACHE_FOLDER", "YARN_GLOBAL_FOLDER", "YARN_ENABLE_TELEMETRY",
	"YARN_IGNORE_PATH", "BUN_INSTALL", "BUN_INSTALL_CACHE_DIR", "DENO_DIR", "DENO_INSTALL",
	"DENO_INSTALL_ROOT", "DENO_NO_UPDATE_CHECK", "ELECTRON_RUN_AS_NODE", "ELECTRON_CACHE",
	"ELECTRON_SKIP_BINARY_DOWNLOAD", "PLAYWRIGHT_BROWSERS_PATH", "PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD",
	"PUPPETEER_CACHE_DIR", "PUPPETEER_EXECUTABLE_PATH", "PUPPETEER_SKIP_DOWNLOAD", "CHROME_BIN",
	"CYPRESS_CACHE_FOLDER", "TS_NODE_PROJECT", "TS_NODE_TRANSPILE_ONLY", "BROWSERSLIST", "BABEL_ENV",
	"npm_config_registry", "npm_config_cache", "npm_config_prefix", "npm_config_userconfig",
	"npm_config_globalconfig", "npm_config_offline", "npm_config_prefer_offline",
	"npm_config_fetch_retries", "npm_config_fetch_timeout", "npm_config_loglevel",
	"npm_config_yes", "npm_config_fund", "npm_config_audit", "npm_config_update_notifier",
	"npm_config_cafile", "npm_config_ignore_scripts", "npm_config_legacy_peer_deps",
	"npm_config_engine_strict", "npm_config_node_gyp", "npm_config_user_agent",
	"npm_config_noproxy", "npm_config_local_prefix", "npm_config_global_prefix",
	"npm_config_init_module", "npm_config_npm_version", "npm_config_store_dir", "npm_config_build_from_source",
	"NPM_CONFIG_REGISTRY", "NPM_CONFIG_CACHE", "NPM_CONFIG_PREFIX", "NPM_CONFIG_USERCONFIG",
	"NPM_CONFIG_GLOBALCONFIG", "NPM_CONFIG_OFFLINE", "NPM_CONFIG_PREFER_OFFLINE",
	"NPM_CONFIG_LOGLEVEL", "NPM_CONFIG_YES", "NPM_CONFIG_FUND", "NPM_CONFIG_AUDIT",
	"NPM_CONFIG_UPDATE_NOTIFIER", "NPM_CONFIG_CAFILE", "NPM_CONFIG_IGNORE_SCRIPTS",
	"NPM_CONFIG_LEGACY_PEER_DEPS", "NPM_CONFIG_ENGINE_STRICT", "NPM_CONFIG_STORE_DIR",
	"npm_execpath", "npm_node_execpath", "npm_command", "npm_lifecycle_event",
	"npm_package_name", "npm_package_version", "npm_package_json", "INIT_CWD",
	/* Go */
	"GOPATH", "GOROOT", "GOBIN", "GOCACHE", "GOMODCACHE", "GOTMPDIR", "GOENV", "GOFLAGS", "GOOS", "GOARCH",
	"GOARM", "GOARM64", "GOAMD64", "GO386", "GOMIPS", "GOWASM", "GOHOSTOS", "GOHOSTARCH", "GOPROXY",
	"GOPRIVATE", "GONOPROXY", "GONOSUMDB", "GOSUMDB", "GOINSECURE", "GOVCS",
	"GOTOOLCHAIN", "GOWORK", "GO111MODULE", "GOEXPERIMENT", "GODEBUG", "GOGC", "GOMEMLIMIT", "GOMAXPROCS",
	"GOTRACEBACK", "GORACE", "GOCOVERDIR", "GOTELEMETRY", "GCCGO", "CGO_ENABLED", "CGO_CFLAGS",
	"CGO_CPPFLAGS", "CGO_CXXFLAGS", "CGO_FFLAGS", "CGO_LDFLAGS", "CGO_CFLAGS_ALLOW",
	"CGO_LDFLAGS_ALLOW", "GOLANGCI_LINT_CACHE", "GVM_ROOT",
	/* Rust */
	"CARGO", "CARGO_HOME", "CARGO_TARGET_DIR", "CARGO_BUILD_JOBS", "CARGO_BUILD_TARGET",
	"CARGO_BUILD_RUSTFLAGS", "CARGO_BUILD_TARGET_DIR", "CARGO_BUILD_RUSTC_WRAPPER",
	"CARGO_ENCODED_RUSTFLAGS", "CARGO_INCREMENTAL", "CARGO_NET_OFFLINE", "CARGO_NET_RETRY",
	"CARGO_NET_GIT_FETCH_WITH_CLI", "CARGO_HTTP_TIMEOUT", "CARGO_HTTP_MULTIPLEXING",
	"CARGO_HTTP_CHECK_REVOKE", "CARGO_TERM_COLOR", "CARGO_TERM_VERBOSE", "CARGO_TERM_QUIET",
	"CARGO_TERM_PROGRESS_WHEN", "CARGO_PROFILE_DEV_DEBUG", "CARGO_PROFILE_RELEASE_LTO",
	"CARGO_PROFILE_RELEASE_DEBUG", "CARGO_PROFILE_TEST_DEBUG", "CARGO_MANIFEST_DIR",
	"CARGO_UNSTABLE_SPARSE_REGISTRY", "CARGO_REGISTRIES_CRATES_IO_PROTOCOL", "CARGO_INSTALL_ROOT",
	"RUSTUP_HOME", "RUSTUP_TOOLCHAIN", "RUSTUP_DIST_SERVER", "RUSTUP_UPDATE_ROOT", "RUSTUP_OFFLINE", "RUSTUP_AUTO_INSTALL",
	"RUSTC", "RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER", "RUSTC_BOOTSTRAP", "RUSTC_LOG", "RUSTDOC",
	"RUSTDOCFLAGS", "RUSTFLAGS", "RUSTFMT", "RUST_BACKTRACE", "RUST_LIB_BACKTRACE", "RUST_LOG",
	"RUST_MIN_STACK", "RUST_TEST_THREADS", "RUST_TEST_NOCAPTURE", "RUST_SRC_PATH",
	"BINDGEN_EXTRA_CLANG_ARGS", "LIBCLANG_PATH", "PROTOC", "PROTOC_INCLUDE", "OPENSSL_DIR",
	"OPENSSL_LIB_DIR", "OPENSSL_INCLUDE_DIR", "OPENSSL_NO_VENDOR", "OPENSSL_STATIC", "ZSTD_SYS_USE_PKG_CONFIG",
	"SQLX_OFFLINE", "SQLX_OFFLINE_DIR", "NEXTEST_PROFILE",
	/* Java and its like */
	"JAVA_HOME", "JDK_HOME", "JRE_HOME", "CLASSPATH", "JAVA_OPTS", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS",
	"JDK_JAVA_OPTIONS", "MAVEN_HOME", "M2_HOME", "M2", "MAVEN_OPTS", "MAVEN_ARGS", "MAVEN_USER_HOME",
	"GRADLE_HOME", "GRADLE_USER_HOME", "GRADLE_OPTS", "ANT_HOME", "ANT_OPTS", "SBT_HOME", "SBT_OPTS",
	"COURSIER_CACHE", "SCALA_HOME", "KOTLIN_HOME", "GROOVY_HOME", "LEIN_HOME", "CLJ_CONFIG", "GRAALVM_HOME",
	"SDKMAN_DIR", "SDKMAN_CANDIDATES_DIR", "JENV_ROOT", "ANDROID_HOME", "ANDROID_SDK_ROOT",
	"ANDROID_NDK_HOME", "ANDROID_NDK_ROOT", "ANDROID_USER_HOME", "FLUTTER_ROOT", "PUB_CACHE",
	"BAZELISK_HOME", "USE_BAZEL_VERSION", "TEST_TMPDIR",
	/* .NET, Ruby, PHP, Perl, Lua, R, Haskell, OCaml, Erlang, Swift, Zig, Julia, Nim, Emacs, TeX */
	"DOTNET_ROOT", "DOTNET_CLI_HOME", "DOTNET_CLI_TELEMETRY_OPTOUT", "DOTNET_NOLOGO",
	"DOTNET_SKIP_FIRST_TIME_EXPERIENCE", "DOTNET_SYSTEM_GLOBALIZATION_INVARIANT",
	"DOTNET_ROLL_FORWARD", "DOTNET_gcServer", "NUGET_PACKAGES", "MSBUILDDISABLENODEREUSE",
	"GEM_HOME", "GEM_PATH", "RUBYLIB", "RUBYOPT", "RUBY_VERSION", "RUBY_ROOT", "RUBY_ENGINE",
	"BUNDLE_GEMFILE", "BUNDLE_PATH", "BUNDLE_WITHOUT", "BUNDLE_FROZEN", "BUNDLE_JOBS",
	"BUNDLE_DEPLOYMENT", "BUNDLE_BIN_PATH", "BUNDLE_APP_CONFIG", "BUNDLER_VERSION", "RBENV_ROOT",
	"RBENV_VERSION", "RBENV_SHELL", "RAILS_ENV", "RACK_ENV", "rvm_path", "rvm_prefix", "rvm_bin_path",
	"COMPOSER_HOME", "COMPOSER_CACHE_DIR", "COMPOSER_NO_INTERACTION", "COMPOSER_ALLOW_SUPERUSER",
	"COMPOSER_MEMORY_LIMIT", "COMPOSER_VENDOR_DIR", "PHPRC", "PHP_INI_SCAN_DIR", "XDEBUG_MODE",
	"PERL5LIB", "PERL5OPT", "PERLLIB", "PERL_LOCAL_LIB_ROOT", "PERL_MB_OPT", "PERL_MM_OPT",
	"PERL_UNICODE", "PERL_HASH_SEED", "PERLBREW_ROOT", "PERLBREW_PERL", "PERLBREW_PATH",
	"LUA_PATH", "LUA_CPATH", "LUA_INIT", "LUA_PATH_5_1", "LUA_PATH_5_2", "LUA_PATH_5_3", "LUA_PATH_5_4",
	"LUA_CPATH_5_1", "LUA_CPATH_5_2", "LUA_CPATH_5_3", "LUA_CPATH_5_4",
	"R_HOME", "R_LIBS", "R_LIBS_USER", "R_LIBS_SITE", "R_ENVIRON", "R_PROFILE", "R_PROFILE_USER",
	"GHCUP_INSTALL_BASE_PREFIX", "GHC_PACKAGE_PATH", "GHC_ENVIRONMENT", "STACK_ROOT", "STACK_YAML",
	"CABAL_DIR", "CABAL_CONFIG", "OPAMROOT", "OPAMSWITCH", "OPAM_SWITCH_PREFIX", "OPAMYES",
	"CAML_LD_LIBRARY_PATH", "OCAML_TOPLEVEL_PATH", "OCAMLPATH", "OCAMLRUNPARAM", "OCAMLLIB",
	"ERL_LIBS", "ERL_AFLAGS", "ERL_ROOTDIR", "ERL_COMPILER_OPTIONS", "ELIXIR_ERL_OPTIONS", "MIX_ENV",
	"MIX_HOME", "MIX_ARCHIVES", "MIX_TARGET", "HEX_HOME", "HEX_OFFLINE", "REBAR_CACHE_DIR",
	"SWIFTLY_HOME_DIR", "SDKROOT", "DEVELOPER_DIR",
	"ZIG_GLOBAL_CACHE_DIR", "ZIG_LOCAL_CACHE_DIR", "ZIG_LIB_DIR", "JULIA_DEPOT_PATH",
	"JULIA_LOAD_PATH", "JULIA_PROJECT", "JULIA_NUM_THREADS", "JULIA_PKG_OFFLINE", "NIMBLE_DIR",
	"EMACSLOADPATH", "TEXINPUTS", "TEXMFHOME", "TEXMFVAR", "TEXMFCACHE", "BIBINPUTS", "BSTINPUTS",
	"GUILE_LOAD_PATH", "GUILE_LOAD_COMPILED_PATH", "TCLLIBPATH", "AWKPATH", "AWKLIBPATH",
	/* managers of these */
	"ASDF_DIR", "ASDF_DATA_DIR", "ASDF_CONFIG_FILE", "MISE_DATA_DIR", "MISE_CONFIG_DIR", "MISE_SHELL",
	"MISE_ENV", "HOMEBREW_PREFIX", "HOMEBREW_CELLAR", "HOMEBREW_REPOSITORY", "NIX_PATH", "NIX_PROFILES",
	"NIX_STORE", "NIX_CC", "NIX_CFLAGS_COMPILE", "NIX_LDFLAGS", "NIX_BUILD_CORES", "NIX_HARDENING_ENABLE",
	"NIX_ENFORCE_PURITY", "IN_NIX_SHELL", "GUIX_PROFILE", "GUIX_ENVIRONMENT", "MODULEPATH",
	"LOADEDMODULES", "_LMFILES_", "MODULESHOME", "MODULES_CMD", "LMOD_CMD", "LMOD_DIR", "LMOD_PKG",
	"LMOD_ROOT", "SNAP", "SNAP_NAME", "SPACK_ROOT",
	/* computing */
	"CUDA_*", "NVIDIA_*", "CUDNN_PATH", "CUBLAS_WORKSPACE_CONFIG", "NVCC_PREPEND_FLAGS",
	"NVCC_APPEND_FLAGS", "NCCL_DEBUG", "NCCL_SOCKET_IFNAME", "NCCL_P2P_DISABLE", "NCCL_IB_DISABLE",
	"GPU_DEVICE_ORDINAL", "HIP_VISIBLE_DEVICES", "HIP_PATH", "HIP_PLATFORM", "ROCM_PATH", "ROCM_HOME",
	"ROCR_VISIBLE_DEVICES", "HSA_OVERRIDE_GFX_VERSION", "ZE_AFFINITY_MASK", "ONEAPI_DEVICE_SELECTOR",
	"ONEAPI_ROOT", "MKLROOT", "OMP_*", "GOMP_CPU_AFFINITY", "KMP_AFFINITY", "KMP_BLOCKTIME",
	"MKL_NUM_THREADS", "MKL_DYNAMIC", "OPENBLAS_NUM_THREADS", "BLIS_NUM_THREADS",
	"VECLIB_MAXIMUM_THREADS", "NUMEXPR_NUM_THREADS", "NUMEXPR_MAX_THREADS", "RAYON_NUM_THREADS",
	"TOKENIZERS_PARALLELISM", "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ENABLE_MPS_FALLBACK", "TORCH_HOME",
	"TORCH_CUDA_ARCH_LIST", "TORCH_EXTENSIONS_DIR", "TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR",
	"TF_CPP_MIN_LOG_LEVEL", "TF_FORCE_GPU_ALLOW_GROWTH", "XLA_FLAGS", "JAX_PLATFORMS",
	"JAX_ENABLE_X64", "KERAS_HOME", "KERAS_BACKEND", "HF_HOME", "HF_HUB_CACHE", "HF_HUB_OFFLINE",
	"HF_DATASETS_CACHE", "HF_DATASETS_OFFLINE", "HF_ENDPOINT", "TRANSFORMERS_CACHE",
	"TRANSFORMERS_OFFLINE", "SENTENCE_TRANSFORMERS_HOME", "NLTK_DATA", "WORLD_SIZE", "RANK",
	"LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT", "SLURM_JOB_ID", "SLURM_JOB_NAME", "SLURM_NTASKS",
	"SLURM_PROCID", "SLURM_LOCALID", "SLURM_NODEID", "SLURM_CPUS_PER_TASK", "SLURM_CPUS_ON_NODE",
	"SLURM_ARRAY_JOB_ID", "SLURM_ARRAY_TASK_ID", "SLURM_SUBMIT_DIR", "SLURM_TMPDIR",
	/* what AWF tells programs that it runs; no key, token or secret */
	"AWF_RUN_ID", "AWF_TRANSCRIPT", "AWF_STORAGE", "AWF_PATH", "AWF_CALL", "AWF_PARENT",
	"AWF_WORKFLOW_DIR", "AWF_WORKFLOW_FILE", "AWF_INPUT_*", "AWF_TASK", "AWF_TRY", "AWF_CLAIMED", "AWF_TOOL_CALL",
	"AWF_BODY", "AWF_VIA", "AWF_REPLAY", "AWF_DRY_RUN", "AWF_TOOL_LOADED", "AWF_TOOL_PATH",
	"AWF_PROVIDER_PATH", "AWF_ALLOW_TOOLS", "AWF_TOOLS_POLICY", "AWF_SANDBOX", "AWF_SANDBOX_PATH",
	"AWF_MODEL", "AWF_PROVIDER", "AWF_SYNC", "AWF_VIEW", "AWF_COSTS", "AWF_MAX_COST", "AWF_MASK_DIR",

};

bool
sandbox_environment_lists(const char *name, size_t len)
{
	for (size_t i = 0; i < sizeof listed / sizeof *listed; i++)
		if (environment_pattern_matches(listed[i], name, len))
			return true;
	return false;
}

static bool
is_passed(char *const *passed, const char *name, size_t len)
{
	for (; passed != NULL && *passed != NULL; passed++)
		if (environment_pattern_matches(*passed, name, len))
			return true;
	return false;
}

/* Whether a variable of AWF may be passed: only if it is listed, since AWF sets others, too, after
 * the start of the run. */
static bool
is_set_since(const struct attempt_start *start, const char *entry, size_t len)
{
	static const char own[] = "AWF_";

	return start != NULL && strncmp(entry, own, sizeof own - 1) != 0 &&
	    attempt_start_set_since(start, entry, len, entry + len + 1);
}

int
sandbox_environment_close(struct environment *e, const char *run_directory,
    char *const *passed, char ***left, struct error *err)
{
	struct attempt_start *start = NULL;
	int found = run_directory == NULL ? 0 : attempt_start_open(&start, run_directory, NULL, err);
	const char *own = environment_get(e, MARKS_OWN);
	char *own_names = own == NULL ? NULL : memory_text(own);
	size_t kept = 0;

	for (size_t i = 0; i < e->count; i++) {
		char *entry = e->list[i];
		size_t len = strcspn(entry, "=");
		bool sees = entry[len] == '=' && is_passed(passed, entry, len);

		if (!sees && entry[len] == '=' && (sandbox_environment_lists(entry, len) ||
		    text_has_part(own_names, ' ', entry, len) || is_set_since(start, entry, len))) {
			char *name = memory_copy(entry, len);

			sees = !environment_is_secret(name, entry + len + 1);
			free(name);
		}
		if (sees) {
			e->list[kept++] = entry;
			continue;
		}
		if (left != NULL && entry[len] == '=')
			list_take(left, memory_copy(entry, len));
		free(entry);
	}
	e->count = kept;
	e->list[kept] = NULL;
	free(own_names);
	attempt_start_free(start);
	return found == -1 ? -1 : 0;
}

/* ---- messages ---- */

/* Variables of desktop sessions. They are not mentioned in hints, since a program that can work in
 * a sandbox does not fail without them. */
static const char *const of_sessions[] = { "XDG_*", "DBUS_*", "SSH_*", "GPG_*", "DESKTOP_*", "GNOME_*",
	"KDE_*", "GTK_*", "QT_*", "GDM*", "VTE_*", "WINDOWID", "WINDOWPATH", "WAYLAND_DISPLAY", "XAUTHORITY",
	"SESSION_MANAGER", "SYSTEMD_*", "INVOCATION_ID", "JOURNAL_STREAM", "MEMORY_PRESSURE_*",
	"MANAGERPID*", "DEBUGINFOD_URLS", "LESSOPEN", "LESSCLOSE", "HIST*", "PS0", "PS1", "PS2", "PS3", "PS4",
	"PROMPT*", "BASH*", "ZSH*", "FPATH", "TERM_*", "ITERM_*", "TMUX*", "STY", "WINDOW", "KONSOLE_*",
	"ALACRITTY_*", "KITTY_*", "VSCODE_*", "IM_CONFIG_PHASE", "XMODIFIERS", "LS_OPTIONS", "AWF_*" };

static bool
is_of_session(const char *name)
{
	for (size_t i = 0; i < sizeof of_sessions / sizeof *of_sessions; i++)
		if (environment_pattern_matches(of_sessions[i], name, strlen(name)))
			return true;
	return false;
}

/* Whether a text contains a name as a whole word. */
static bool
names_it(const char *errors, size_t len, const char *name)
{
	static const char letters[] =
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";
	size_t size = strlen(name);

	for (const char *at = errors, *end = errors + len; (size_t)(end - at) >= size; at++) {
		at = memmem(at, (size_t)(end - at), name, size);
		if (at == NULL)
			return false;
		if ((at == errors || strchr(letters, at[-1]) == NULL || at[-1] == '\0') &&
		    (at + size == end || at[size] == '\0' || strchr(letters, at[size]) == NULL))
			return true;
	}
	return false;
}

/* Whether this process is the first of the run to print the hint. */
static bool
is_first(const char *run_directory)
{
	char *path = path_join(run_directory, HINTED);
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	bool first = fd >= 0 || errno != EEXIST;

	file_close(&fd);
	free(path);
	return first;
}

bool
sandbox_environment_hint(char *const *left, const char *run_directory, const char *errors,
    size_t len, bool only_named, struct buffer *out)
{
	char **named = NULL, **others = NULL, **told;
	struct buffer names = BUFFER_INIT;
	size_t count;
	bool tells;

	for (; left != NULL && *left != NULL; left++)
		if (errors != NULL && names_it(errors, len, *left))
			list_add(&named, *left);
		else if (!is_of_session(*left))
			list_add(&others, *left);
	told = named != NULL ? named : only_named ? NULL : others;
	tells = told != NULL && (run_directory == NULL || is_first(run_directory));
	count = list_count(told);
	for (size_t i = 0; tells && i < count && i < NAMES_TOLD; i++)
		buffer_format(&names, "%s%s", i == 0 ? "" : ", ", told[i]);
	if (tells)
		buffer_format(out, "the sandbox left %zu variable%s out of its environment: %s%s (--pass-env %s "
		    "passes %s)", count, count == 1 ? "" : "s", buffer_string(&names),
		    count > NAMES_TOLD ? " and others" : "", count == 1 ? told[0] : "NAME",
		    count == 1 ? "it" : "one");
	buffer_free(&names);
	list_free(named);
	list_free(others);
	return tells;
}

bool
sandbox_environment_hint_of(const struct environment *e, char *const *passed,
    char *const *passed_too, const char *run_directory, const char *errors, size_t len, bool only_named,
    struct buffer *out)
{
	struct error unread = ERROR_INIT; /* ignored: the sandbox reports this error itself */
	struct environment seen;
	char **left = NULL, **all = list_copy(passed);
	bool tells;

	for (; passed_too != NULL && *passed_too != NULL; passed_too++)
		list_add(&all, *passed_too);
	environment_copy(&seen, e);
	tells = sandbox_environment_close(&seen, run_directory, all, &left, &unread) == 0 &&
	    sandbox_environment_hint(left, run_directory, errors, len, only_named, out);
	environment_free(&seen);
	list_free(left);
	list_free(all);
	return tells;
}
