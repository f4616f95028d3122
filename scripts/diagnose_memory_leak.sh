#!/usr/bin/env bash
# Where the machine's memory is: five sections, on Linux and macOS. When gpumem
# is on PATH it answers (it knows more); the script does without it as well.
# Usage: diagnose_memory_leak.sh [NAME…]
#   NAME…  executables of the runtime to look for (default: gpumem tl tensorlogic)
# Matches the base name of the executable, never the whole command line, and
# shows resident size (RSS); the virtual size of a GPU program means nothing.
set -u
case ${1-} in -h | --help) sed -n '2,7s/^# \{0,1\}//p' "$0" && exit 0 ;; esac
export LC_ALL=C

runtimes=("$@")
[ ${#runtimes[@]} -gt 0 ] || runtimes=(gpumem tl tensorlogic)

if gpumem diagnose --help 2>/dev/null | grep -q sections; then
	names=$(IFS=,; printf '%s' "${runtimes[*]}")
	echo "=== GPU Memory Leak Diagnosis ==="
	gpumem diagnose --format sections --runtime "$names"
	code=$?
	echo
	echo "=== Diagnosis complete ==="
	exit "$code"
fi

# pid, %cpu, %mem, resident KiB, command line; the executable's name is taken
# from the first word, since ps cuts `comm` to 15 characters on Linux.
# Taken once, so that the script's own pipelines are in no section.
snapshot=$(ps -axo pid=,pcpu=,pmem=,rss=,args= 2>/dev/null || ps -eo pid=,pcpu=,pmem=,rss=,args=)
processes() { printf '%s\n' "$snapshot"; }

header() { printf '%8s %6s %6s %12s  %s\n' PID %CPU %MEM 'RSS MiB' COMMAND; }

rows() { # stdin: rows of processes()
	awk '{ cmd = ""; for (i = 5; i <= NF; i++) cmd = cmd (i > 5 ? " " : "") $i
	       printf "%8d %6s %6s %12.1f  %s\n", $1, $2, $3, $4 / 1024, substr(cmd, 1, 100) }'
}

# named NAMES…: rows whose executable has one of the names (a login shell's
# leading "-" and a script interpreter's own name do not count).
named() {
	processes | awk -v names="$*" '
		BEGIN { n = split(names, list, " "); for (i = 1; i <= n; i++) want[list[i]] = 1 }
		{ exe = $5; sub(/^.*\//, "", exe); sub(/:$/, "", exe); if (exe in want) print }'
}

# like PATTERN: rows whose executable name matches an extended pattern.
like() {
	processes | awk -v pattern="$1" '{ exe = tolower($5); sub(/^.*\//, "", exe); if (exe ~ pattern) print }'
}

show() { # stdin: rows, or a word that there are none
	local found
	found=$(cat)
	if [ -z "$found" ]; then echo "none"; else header; printf '%s\n' "$found" | sort -k4,4 -rn | rows; fi
}

echo "=== GPU Memory Leak Diagnosis ==="
date
echo
echo "1. Top 20 processes by memory"
processes | sort -k4,4 -rn | head -n 20 | show
echo
echo "2. Processes of the runtime (${runtimes[*]})"
named "${runtimes[@]}" | show
echo
echo "3. Metal, GPU and MTL processes"
like '^(metal|mtl|gpu|nvidia|cuda|rocm|amdgpu|i915|xe)|mtlcompiler|gpu-process|nvidia-smi' | show
echo
echo "4. VSCode GPU helper processes"
processes | awk '{ exe = $5; sub(/^.*\//, "", exe)
	if ((tolower(exe) ~ /^(code|code-oss|codium|electron)/ || $0 ~ /Code Helper/) && $0 ~ /(--type=gpu-process|Helper \(GPU\))/) print }' | show
echo
echo "5. GPU memory"
if command -v nvidia-smi >/dev/null 2>&1 && nvidia-smi -L >/dev/null 2>&1; then
	nvidia-smi --query-gpu=index,name,memory.total,memory.used,memory.reserved --format=csv 2>/dev/null ||
		nvidia-smi --query-gpu=index,name,memory.total,memory.used --format=csv
	nvidia-smi --query-compute-apps=pid,used_gpu_memory,process_name --format=csv
elif [ "$(uname -s)" = Darwin ] && command -v system_profiler >/dev/null 2>&1; then
	system_profiler SPDisplaysDataType | grep -E 'Chipset|VRAM|Metal|Cores' || echo "not available: system_profiler names no GPU"
else
	found=no
	for used in /sys/class/drm/card*/device/mem_info_vram_used; do
		[ -r "$used" ] || continue
		found=yes
		printf '%s: %s of %s B used\n' "$(dirname "$used")" "$(cat "$used")" "$(cat "${used%used}total" 2>/dev/null || echo unknown)"
	done
	[ "$found" = yes ] || echo "not available: no nvidia-smi that answers, no amdgpu memory counters"
fi
echo
echo "=== Diagnosis complete ==="
