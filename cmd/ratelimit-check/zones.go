package main

import _ "time/tzdata" // for limits of a calendar, on machines without a time zone database
