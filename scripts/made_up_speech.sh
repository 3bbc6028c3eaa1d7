#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Bora authors
#
#   scripts/made_up_speech.sh FOLDER [TRAIN [VALIDATION]]
#
# Speech that nobody speaks, for recipes/whisper_nano.yaml: FOLDER/train.jsonl and FOLDER/validation.jsonl with TRAIN
# (600) and VALIDATION (60) sentences of one to three digits, and the sound of each, FOLDER/sounds/*.wav (8 bits, 8 kHz,
# below one second). A digit is two syllables of its own, each of two tones; pitch, speed, pauses and noise differ from
# sentence to sentence. The same arguments make the same files.
set -euo pipefail
shopt -s inherit_errexit
export LC_ALL=C
folder=${1:?usage: scripts/made_up_speech.sh FOLDER [TRAIN [VALIDATION]]}
train=${2:-600} validation=${3:-60}
mkdir -p "$folder/sounds"

# A number of $2 bytes, the low one first.
little_endian() {
  local value=$1 i byte text=
  for ((i = 0; i < $2; i++)); do
    printf -v byte '\\x%02x' $((value >> (8 * i) & 255))
    text+=$byte
  done
  printf '%b' "$text"
}

# The header of a WAV file with $1 samples.
header() {
  printf RIFF
  little_endian $((36 + $1)) 4
  printf 'WAVEfmt '
  little_endian 16 4
  little_endian 1 2 # PCM
  little_endian 1 2 # a channel
  little_endian 8000 4
  little_endian 8000 4
  little_endian 1 2
  little_endian 8 2
  printf data
  little_endian "$1" 4
}

# Writes samples to the file of sound, sentence by sentence, and to standard output a line for each: the file, the number
# of samples, the text. No sample is 0, which some awks cannot write.
# shellcheck disable=SC2016
speak='
function random() { state = state * 16807 % 2147483647; return state / 2147483647 }
function between(a, b) { return a + (b - a) * random() }
function say(value) { printf "%c", 128 + int(value * 100 + between(-3, 3)) > file; samples++ }
function pause(seconds,  i) { for (i = 0; i < seconds * 8000; i++) say(0) }
function syllable(low, high, seconds,  i, n) {
  n = int(seconds * 8000)
  for (i = 0; i < n; i++)
    say(sin(3.14159265 * i / n) * (0.6 * sin(6.2831853 * low * i / 8000) + 0.4 * sin(6.2831853 * high * i / 8000)))
}
BEGIN {
  split("zero one two three four five six seven eight nine", words, " ")
  state = seed
  for (s = 0; s < count; s++) {
    file = sprintf("%s/%s%04d.raw", folder, name, s)
    samples = 0; text = ""
    pitch = between(0.95, 1.05); pace = between(0.85, 1.1)
    pause(between(0.01, 0.05))
    n = 1 + int(random() * 3)
    for (w = 0; w < n; w++) {
      digit = int(random() * 10)
      syllable(pitch * (300 + 40 * digit), pitch * (1200 + 160 * (digit * 3 % 10)), 0.11 * pace)
      syllable(pitch * (300 + 40 * (digit * 7 % 10)), pitch * (1200 + 160 * digit), 0.11 * pace)
      pause(between(0.01, 0.04))
      text = text (w ? " " : "") words[digit + 1]
    }
    if (samples % 2) say(0)  # chunks of WAV files have even sizes
    close(file)
    printf "%s%04d %d %s\n", name, s, samples, text
  }
}'

# Sentences of one file: its name, how many, the seed.
sentences() {
  local name samples text
  awk -v folder="$folder/sounds" -v name="$1" -v count="$2" -v seed="$3" "$speak" |
    while read -r name samples text; do
      {
        header "$samples"
        cat "$folder/sounds/$name.raw"
      } >"$folder/sounds/$name.wav"
      rm "$folder/sounds/$name.raw"
      printf '{"audio": "sounds/%s.wav", "text": "%s"}\n' "$name" "$text"
    done >"$folder/$1.jsonl"
}

sentences train "$train" 1
sentences validation "$validation" 2
