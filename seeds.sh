#!/usr/bin/env bash
# seeds.sh FIRST LAST : blocks of 2,000, one line each
cd /work/sim
for ((s=$1; s<$2; s+=2000)); do
  echo "$s $(date +%T) $(.venv/bin/python -m tests.simulation.cluster_history $s $((s+2000)) 2>&1 | tail -3 | cut -c1-300 | tr '\n' ' ')" >> /work/sim/seeds-$1.log
done
