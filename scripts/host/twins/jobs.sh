#!/bin/bash
# A background job every second. Faulty: it waits for ever. Healthy: for two seconds.
end=$((SECONDS + $1)) life=1000
[ $# = 1 ] || life=2
while [ $SECONDS -lt $end ]; do
	(
		data=$(head -c 1500000 /dev/zero | tr '\0' x)
		read -r -t $life <> <(:)
		echo "${#data}" >/dev/null
	) &
	sleep 1
done
jobs -p | xargs kill 2>/dev/null
exit 0
