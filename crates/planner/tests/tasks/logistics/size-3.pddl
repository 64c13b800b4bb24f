(define (problem logistics-03-001)
  (:domain logistics)
  (:objects
    cit1
    apt1
    tru1-1
    cit2
    apt2
    pos2-2
    tru2-1
    cit3
    apt3
    pos3-2
    pos3-3
    tru3-1
    apn1
    apn2
    obj1
    obj2
    obj3)
  (:init
    (city cit1)
    (location apt1)
    (airport apt1)
    (in-city apt1 cit1)
    (truck tru1-1)
    (city cit2)
    (location apt2)
    (airport apt2)
    (in-city apt2 cit2)
    (location pos2-2)
    (in-city pos2-2 cit2)
    (truck tru2-1)
    (city cit3)
    (location apt3)
    (airport apt3)
    (in-city apt3 cit3)
    (location pos3-2)
    (in-city pos3-2 cit3)
    (location pos3-3)
    (in-city pos3-3 cit3)
    (truck tru3-1)
    (airplane apn1)
    (airplane apn2)
    (at tru1-1 apt1)
    (at tru2-1 apt2)
    (at tru3-1 pos3-3)
    (at apn1 apt3)
    (at apn2 apt2)
    (package obj1)
    (at obj1 pos3-3)
    (package obj2)
    (at obj2 pos2-2)
    (package obj3)
    (at obj3 apt3))
  (:goal (and
    (at obj1 pos3-3)
    (at obj2 apt3)
    (at obj3 apt2))))
