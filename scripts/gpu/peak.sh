#!/usr/bin/env bash
# Run in the repository root of a machine with a GPU; ./gpumem is there; results go to $OUT. About 5 minutes.
# CASES=host runs only the programs that need no GPU, without the models; CASES="leak logits"
# only those and their twins. LIST=oom_more runs the programs of oom_more.py, all of one list.
# Needs beside it: oom.py, oom_more.py and models.py (folder PEAK, default the folder of this script).
LIST=${LIST:-oom}
PEAK=${PEAK:-$(cd "$(dirname "$0")" && pwd)}; OUT=${OUT:-/tmp/peak-out}; PY=${PY:-python3}; mkdir -p "$OUT"; export TMPD=$OUT
one() { # name, wanted reason, then the command
  local n=$1 want=$2; shift 2
  rm -rf "${OUT:?}/$n"; timeout 100 ./gpumem run -q --out "$OUT/$n" -- "$@" </dev/null >"$OUT/$n.out" 2>"$OUT/$n.err"; local code=$?
  "$PY" - "$OUT" "$n" "$want" $code <<'P'
import json,sys
out,n,want,code=sys.argv[1:]
try: v=json.load(open(f"{out}/{n}/verdict.json"))
except Exception as e: print(f"{n:28} NO VERDICT {e}"); sys.exit()
o=v.get("oom") or {}; got=o.get("reason") or ("caught" if o.get("caught") else "-"); fits=[s["change"][:60]+":"+str(s.get("fits")) for s in o.get("saves",[])]
print(f"{'ok ' if got in want.split('|') and (want!='-' or code=='0') else 'BAD'} {n:26} code {code:>3} want {want:16} got {got:16} {v['verdict']} | {o.get('sentence','')} | {fits}",flush=True)
P
  rm -f "$OUT/$n/report.html"
}
model() {
  rm -rf "${OUT:?}/m-$1"; timeout 100 ./gpumem run -q --profile=steps:3,after:30 --out "$OUT/m-$1" -- "$PY" "$PEAK/models.py" "$1" >"$OUT/m-$1.out" 2>"$OUT/m-$1.err"
  "$PY" - "$OUT" "$1" <<'P'
import json,sys,re
out,n=sys.argv[1:]
text=open(f"{out}/m-{n}.out").read(); m=re.search(r"MAX \S+ (\d+)",text)
try: v=json.load(open(f"{out}/m-{n}/verdict.json"))
except Exception as e: print(f"model {n:14} NO VERDICT {e}"); sys.exit()
p=v.get("peak")
if not p or not m: print(f"BAD model {n:14} no peak; {v.get('missing')} {v.get('warnings')} {open(f'{out}/m-{n}.err').read()[-300:]}"); sys.exit()
d=(p["bytes"]-int(m[1]))/int(m[1])
print(f"{'ok ' if abs(d)<.01 else 'BAD'} model {n:14} peak {p['bytes']} max {m[1]} {100*d:+.3f} % unexplained {p.get('unexplained_bytes')} {[(c['name'],round(c['bytes']/2**20,1)) for c in p['categories']]} cost {p['cost']} modules {len(p.get('modules') or [])} {sum(m['bytes'] for m in p.get('modules') or [])} {p.get('no_modules','')} oom {v.get('oom')}",flush=True)
P
  rm -f "$OUT/m-$1/report.html"
}
P=$PEAK/$LIST.py
both() { # name, wanted reason: the program and its twin
  one "$1" "$2" "$PY" "$P" "$1" & one "$1-twin" "$(fits "$1")" "$PY" "$P" "$1" twin & wait
}
chosen() { # programs of list $1 with their reasons: those that CASES names, or all
  "$PY" "$P" list $1 | while read -r name reason; do
    case " ${CASES:-$name} " in *" $name "*) echo "$name $reason" ;; esac
  done
}
fits() { # name: what is told of its twin; that of retry catches an error, and goes on with less
  case $1 in retry) echo caught ;; *) echo - ;; esac
}
many() { # programs of list $1: three and their twins at a time
  local n=0 name reason
  while read -r name reason; do
    both "$name" "$reason" &
    n=$((n + 1)); [ $((n % 3)) != 0 ] || wait
  done < <(chosen "$1"); wait
}
alone() { # these fill the device
  while read -r name reason; do
    one "$name" "$reason" "$PY" "$P" "$name"; one "$name-twin" - "$PY" "$P" "$name" twin
  done < <(chosen alone)
}
count() {
  echo "right reasons: $(grep -c '^ok .* want [a-z]' "$OUT/summary.txt"), none on twins: $(grep -c '^ok .* want - ' "$OUT/summary.txt"), wrong: $(grep -c '^BAD' "$OUT/summary.txt")"
}
if [ "${CASES-}" = host ]; then
  CASES=; { many host; count; } | tee "$OUT/summary.txt"; exit
fi
if [ "${CASES-}" ] || [ "$LIST" != oom ]; then
  { many host; many gpu; alone; count; } | tee "$OUT/summary.txt"; exit
fi
{
  many host; many gpu # all that have a limit of their own
  # the prediction "expandable segments would have fit" holds when this one ends well:
  one fragment-expandable - env PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True "$PY" "$P" fragment
  model encoder & model conv & model lstm & model checkpointed & model autocast & wait
  model accumulated & model two & model inference & model gan & model compiled & wait
  alone; count
  echo; ./gpumem tune "$OUT/m-encoder"; ./gpumem fit "$OUT/m-encoder" --memory 24GiB
  for n in activations fragment optimizer; do echo "== $n"; sed -n '/^Out of memory/,/^Growth by account/p' "$OUT/$n.err" | head -60; done
  echo "== encoder"; sed -n '/^What memory is made of/,/^Growth by account/p' "$OUT/m-encoder.err" | head -60
} | tee "$OUT/summary.txt"
