-- By which name an owner's connections are known: when none is left, it is dead or cut off.
alter table owners add column session text;
