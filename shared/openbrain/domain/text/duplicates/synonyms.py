"""Synonyms in software work, interchangeable if the rest of two texts is equal.

Only words that mean the same almost everywhere. Those that do so sometimes (`drop` a request, `refuse` it) are left
out.
"""

from collections.abc import Mapping
from typing import Final

from openbrain.domain.text.duplicates.tokens import SECURED

_WORDS: Final = """
abort cancel
about approximately around roughly circa
accurate exact precise
acquire obtain
actual real
additional extra further
administrator admin
again anew
allow permit let
almost nearly
although though
answer respond return reply
application app
april apr
argument arg
assign allocate
august aug
because since
begin start launch
behaviour behavior
brief short
bug defect
build construct
but however
buy purchase
call invoke
catalogue catalog
cause reason
centre center
change alter modify edit touch adjust
cheap inexpensive
check verify validate
choice option
choose pick select
collect gather
colour color
completely fully entirely totally
compute calculate
configuration config conf
constantly continuously permanently
contain include
convert transform
copy duplicate
correct proper
cost price expense
crash die
crucial essential vital important
currently now presently
database db
december dec
decrease reduce lower
delete remove purge erase
deliver ship
depend rely
dependency dep
deployment deploy
detect recognise recognize
development dev
different distinct
disk drive
documentation docs doc
drawback disadvantage
drop discard
each every
easy simple
elasticsearch elastic
email mail
empty blank clear flush
end finish complete
engineer developer programmer
enough sufficient
entry record item
environment env
error failure mistake
especially particularly
examine inspect
example sample
exit terminate quit
expensive costly
expire lapse
fail break
fast quick rapid
faulty broken
february feb
fetch retrieve
fill populate
finally eventually
fix repair solve resolve
folder directory dir
forbid prohibit disallow
friday fri
function method helper
goal aim
graph chart diagram
guide manual
handle process treat
hang freeze
happen occur appear arise
hard difficult
help assist
hide conceal
hit reach
identifier id
if when whenever
immediately instantly
in within inside
increase raise bump
initialise initialize init
issue problem trouble
january jan
javascript js
job task
july jul
june jun
keep retain store save leave
kind type
kubernetes k8s
large big huge
later afterwards
library lib
licence license
likely probable
limit cap restrict throttle
list enumerate
long lengthy
machine host
mainly mostly
make create generate produce
mandatory required compulsory obligatory
march mar
maximum max
may can
memory ram
merge combine
message msg
minimum min
monday mon
mongodb mongo
must shall
need require
newest latest
notify inform tell
november nov
number count amount
obsolete outdated
october oct
odd strange weird
often frequently
oldest earliest
omit exclude
on upon
only solely exclusively
organisation organization org
outcome result
package pkg
parameter param
part chunk piece
pause suspend
percent pct
permission right privilege
phone telephone
picture image
pixel px
plan schedule
postgres postgresql
postpone delay defer
previous prior former
print output
production prod
programme program
propose suggest
protect guard
provide supply offer
put place
queue enqueue
quickly rapidly
random arbitrary
rarely seldom
reachable accessible
read load
recently lately
recommend advise
refresh renew
reject refuse decline
reliable dependable
remark comment
replace substitute
repository repo
restart reboot
restore recover
revert undo
run execute
same identical equal
saturday sat
send post
separately individually
september sep sept
serious severe
several multiple
shorten truncate
show display
silently quietly
similar alike
skip ignore
small little tiny
soon shortly
sort order
specification spec
split divide
state status
suitable appropriate
sunday sun
synchronise synchronize sync
temporary temp tmp
therefore hence thus
thursday thu thur thurs
together jointly
try attempt
tuesday tue tues
turn switch
typescript ts
until till
use utilise utilize employ
useful helpful
usually normally typically generally
vendor supplier
via through using
want like
watch monitor observe
wednesday wed
whole entire
wrong incorrect
"""
_PHRASES: Final = """
must: have to, has to, need to, needs to, had better
may: is allowed to, are allowed to, is able to, are able to, is permitted to, are permitted to
because: because of, due to, owing to, as a result of
if: in case, as soon as, in the event that
before: prior to
to: in order to, so as to
instead: instead of, rather than, in place of
manually: by hand
take: pick up, picks up
omit: leave out, leaves out, left out
ensure: make sure, makes sure
investigate: look into, looks into
retry: try again, tries again
revert: roll back, rolls back, rolled back
automatically: by itself, by themselves, on its own, on their own
currently: at the moment, at present, right now
immediately: right away, straight away
simultaneously: at once, at a time, at same time
want: would like, would like to, want to, wants to
nobody: no one
example: for example, for instance, e g
via: by means of, with help of
answer: responds with, respond with, answers with, answer with, replies with, reply with, returns with
ask: talk to, speak to, talk with, speak with
own: is responsible for, are responsible for
disable: switch off, switched off, turn off, turned off, deactivate, deactivated
enable: switch on, switched on, turn on, turned on, activate, activated
shutdown: shut down, torn down, tear down, taken down, take down
stay: stays, remains, remain
in: lives in, live in, lies in, lie in, resides in, reside in, is located in, are located in, sits in, sit in
outdated: out of date
login: log in, logs in, sign in, signs in, log on
logout: log out, logs out, sign out, signs out
pullrequest: pull request, pull requests, pr, prs, merge request, merge requests
frontend: front end, front ends
backend: back end, back ends
timeout: time out, times out, timed out
startup: start up, starting up
setup: set up, sets up
email: e mail, e mails
monorepo: mono repo
codebase: code base
code: source code
filename: file name, file names
webhook: web hook, web hooks
runtime: run time
website: web site
username: user name, user names
userinterface: user interface, ui
"""
_WEAK: Final = """
a an the of that which is are be been being gets get got do does we you our my your their its this these those there
here please also just note notes reminder remember fyi btw so well really very actually simply basically always itself
altogether
"""
NUMBERS: Final[Mapping[str, str]] = {
    **{
        word: str(number)
        for number, word in enumerate(
            """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
            seventeen eighteen nineteen twenty""".split()
        )
    },
    "single": "1",
    "thirty": "30",
    "forty": "40",
    "fifty": "50",
    "sixty": "60",
    "hundred": "100",
}
WEAK: Final = frozenset(_WEAK.split())
"""Words that add nothing to the words around them."""


def stem(word: str) -> str:
    """The stem shared by a word's forms; short words are their own stem. Different words rarely share one."""
    if len(word) > 4 and word.endswith("ies"):
        word = f"{word[:-3]}y"
    elif len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")) and word not in SECURED:
        word = word[:-1]
    for ending in ("ing", "ed"):
        if word.endswith(ending) and len(word) > len(ending) + 2 and any(vowel in word[:-3] for vowel in "aeiouy"):
            word = word.removesuffix(ending)
            if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "ls":
                word = word[:-1]
            break
    word = word[:-1] if len(word) > 3 and word.endswith("e") else word
    return f"{word[:-1]}i" if len(word) > 3 and word.endswith("y") else word


_IRREGULAR: Final[Mapping[str, str]] = {
    "kept": "keep",
    "left": "left",
    "began": "begin",
    "begun": "begin",
    "broke": "break",
    "broken": "break",
    "chose": "choose",
    "chosen": "choose",
    "sent": "send",
    "built": "build",
    "rebuilt": "rebuild",
    "made": "make",
    "shown": "show",
    "ran": "run",
    "wrote": "write",
    "written": "write",
    "took": "take",
    "taken": "take",
    "found": "find",
    "died": "die",
    "dies": "die",
    "lost": "lose",
    "hidden": "hide",
    "has": "have",
    "dns": "dns",
}


def _canonical() -> Mapping[str, str]:
    by_word: dict[str, str] = {}
    for line in _WORDS.strip().splitlines():
        first, *others = line.split()
        for word in (first, *others):
            by_word[stem(word)] = stem(first)
    return by_word


_SAME: Final = _canonical()


def canonical(word: str) -> str:
    """The canonical word for a lower-case word and its synonyms."""
    root = stem(_IRREGULAR.get(word, word))
    return _SAME.get(root, root)


def _phrases() -> Mapping[str, Mapping[tuple[str, ...], str]]:
    """Phrases by their first word."""
    by_first_word: dict[str, dict[tuple[str, ...], str]] = {}
    for line in _PHRASES.strip().splitlines():
        meaning, _, phrases = line.partition(": ")
        for phrase in phrases.split(", "):
            words = tuple(word for word in phrase.split() if word not in ("a", "the"))
            by_first_word.setdefault(words[0], {})[words] = meaning
    return by_first_word


PHRASES: Final = _phrases()
LONGEST_PHRASE: Final = max(len(phrase) for some in PHRASES.values() for phrase in some)
